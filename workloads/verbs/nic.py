"""What the verbs endpoint asks of an RDMA device: the seam between policy and libibverbs.

`workloads.verbs.libibverbs` is the real one; tests replace it by a fabric in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from workloads.config import QpConfig

__all__ = ["Nic", "Region", "WorkCompletion"]


@dataclass(frozen=True, slots=True)
class Region:
    """Registered memory, as its device names it."""

    address: int
    """address of its first byte; also the remote address of a WRITE"""
    lkey: int
    rkey: int
    """0 when no peer may write to it"""


@dataclass(frozen=True, slots=True)
class WorkCompletion:
    """One entry of a completion queue."""

    qpn: int
    """QPN that the device uses"""
    wr_id: int
    receive: bool
    """whether it is of a receive request; otherwise of a send request"""
    status: str
    """SUCCESS, or as in `workloads.rc.SendCompleted.status`; others by libibverbs' name"""
    length: int = 0
    """bytes received (receives only)"""
    imm: int | None = None


class Nic(Protocol):
    """One device, opened. Calls raise HostCapabilityError when the device or the kernel refuses."""

    name: str
    depth: int
    """work requests that a send or a receive queue of ours holds"""

    def create_qp(self, config: QpConfig) -> int:
        """A new RC queue pair in INIT: receives may be posted. Returns the device's number for it."""
        ...

    def connect(self, qpn: int, config: QpConfig, peer_qpn: int) -> None:
        """Bring the queue pair to RTR and RTS, with the address, PSNs, path MTU and timers of `config`. `peer_qpn`: the
        real one."""
        ...

    def register(self, memory: memoryview, *, remote: bool) -> Region:
        """Writable, contiguous; the device keeps the memory alive. `remote`: peers may WRITE to it."""
        ...

    def post_send(
        self, qpn: int, wr_id: int, source: tuple[Region, int], imm: int | None, target: tuple[int, int] | None
    ) -> None:
        """The first bytes of a region, by (region, length). `target`: (address, rkey) of a WRITE, None for a SEND."""
        ...

    def post_receive(self, qpn: int, wr_id: int, region: Region, offset: int, length: int) -> None:
        """`length` may be 0: enough for a WRITE with immediate data."""
        ...

    def poll(self) -> list[WorkCompletion]:
        """What completed since the last call, oldest first within one queue; never waits."""
        ...

    def counters(self) -> dict[str, int]:
        """Counters of the port, by the kernel's names; empty if it counts nothing."""
        ...

    def close(self) -> None:
        """Give everything back. Failures of a device that is already gone are of no interest."""
        ...
