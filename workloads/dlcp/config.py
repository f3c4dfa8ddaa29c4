"""Configuration of one host of a DLCP job. Values only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workloads.config import Framing, JobShare, WorkloadConfig
from workloads.dlcp.bound import packets_needed
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

if TYPE_CHECKING:
    from workloads.machine import HostMachine

__all__ = ["OVER", "DlcpConfig"]

OVER = ("ps", "ring", "ina")
"""how a job sums: at a server, in a ring, at a server behind switches that add"""

_ELEMENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class DlcpConfig:
    """A HostConfig (`workloads.config`). All ranks have gradients; the last one is also the server, unless they are a
    ring."""

    name: str
    collective: JobShare
    workload: WorkloadConfig
    peers: tuple[Envelope, ...]
    """headers of sent packets. A worker has one envelope, to the server. The server has one for each worker, by rank. A
    rank of a ring has two: to the successor, and to the predecessor. Their DSCP is that of acknowledgements; packets
    with elements have their own"""
    loss_bound: float = 0.01
    """p: a flow is closed when ceil((1 - p) M) of its M packets are there"""
    important: float = 0.5
    """share of the packets, those with the largest elements, that is of the high class"""
    elements: int = 256
    """elements of a full packet"""
    window: int = 64
    """packets of a flow that may wait for their acknowledgement"""
    rto_ns: int = 10_000_000
    """least wait before a packet counts as lost (`workloads.datagrams.retransmission.BackoffTimer`)"""
    ring: bool = False
    """there is no server: vectors go from rank to rank"""
    service_ip: bytes = b""
    """address of the switches whose sums of some workers the server also accepts; empty: no switch adds"""
    lives: int = 0
    """how often its process was restarted"""

    def create(self, start_ns: int) -> HostMachine:
        from workloads.dlcp import create_host  # whose module knows this configuration

        return create_host(self, start_ns)

    @property
    def senders(self) -> int:
        """Ranks 0 .. senders-1 send their gradients away, rank `senders` is the server."""
        return self.collective.size - 1

    @property
    def is_server(self) -> bool:
        return not self.ring and self.collective.rank == self.senders

    @property
    def packets(self) -> int:
        """M: of one gradient."""
        return -(-self.workload.elements // self.elements)

    @property
    def needed(self) -> int:
        """Number of these packets that must come."""
        return packets_needed(self.packets, self.loss_bound)

    @property
    def group(self) -> int:
        return self.collective.job

    @property
    def sends(self) -> tuple[Envelope, ...]:
        """The server's gradient stays where it is."""
        return () if self.is_server else self.peers[:1]

    @property
    def framing(self) -> Framing:
        payload = _ELEMENT_BYTES * self.elements
        return Framing(payload, AGGREGATION_OVERHEAD_BYTES + payload)

    def span(self, packet: int) -> tuple[int, int]:
        """First element of a packet, and the one behind its last."""
        first = packet * self.elements
        return first, min(first + self.elements, self.workload.elements)

    def reborn(self, lives: int) -> DlcpConfig:
        """The restarted host reports that it cannot continue: no host resends the data that it had."""
        return replace(self, lives=lives)
