"""Configuration of one host that sends and receives RDMA flows. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads.config import Framing, JobShare, QpConfig, WorkloadConfig
from workloads.wire import Envelope
from workloads.wire.packet import EMPTY_FRAME_BYTES

if TYPE_CHECKING:
    from workloads.machine import HostMachine
    from workloads.rc import ReliableTransport

__all__ = ["BASE_VA", "FlowEnd", "FlowsConfig", "rkey_of"]

BASE_VA = 0x10_0000_0000
"""address at which the receiver's memory of every flow begins; each flow has a key of its own"""


def rkey_of(number: int) -> int:
    """Key of the memory that receives a flow."""
    return number + 1


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """One end of a flow, at its sender or its receiver. The same number at both ends."""

    number: int
    """number of the flow in the job, from 0"""
    size: int
    """bytes"""
    start_ns: int
    """when the sender posts it, in time since the start of the traffic"""
    qp: QpConfig


@dataclass(frozen=True, slots=True)
class FlowsConfig:
    """A HostConfig (`workloads.config`)."""

    name: str
    collective: JobShare
    workload: WorkloadConfig
    """seed of the bytes; its elements mean nothing"""
    outgoing: tuple[FlowEnd, ...]
    """in the order of their starts"""
    incoming: tuple[FlowEnd, ...]
    stop_ns: int | None = None
    """when the host gives up what is unfinished, in time since the start of the traffic; None: never"""

    def create(self, start_ns: int) -> HostMachine:
        from workloads.flows import create_host  # whose module knows this configuration

        return create_host(self, start_ns)

    @property
    def transport(self) -> ReliableTransport:
        """What its queue pairs are of."""
        from workloads.rc import RELIABLE

        return RELIABLE

    @property
    def queue_pairs(self) -> tuple[QpConfig, ...]:
        return tuple(end.qp for end in (*self.outgoing, *self.incoming))

    @property
    def group(self) -> int:
        return self.collective.job

    @property
    def sends(self) -> tuple[Envelope, ...]:
        return tuple(end.qp.envelope for end in self.outgoing)

    @property
    def framing(self) -> Framing:
        payload = self.queue_pairs[0].path_mtu if self.queue_pairs else 1024
        return Framing(payload, EMPTY_FRAME_BYTES + payload)

    def reborn(self, lives: int) -> FlowsConfig:
        """The same configuration. A restarted host has lost the state of its connections, so its flows never end."""
        return self
