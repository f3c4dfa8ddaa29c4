"""Configuration of one host of a repair job. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads.config import Framing, JobShare, WorkloadConfig
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

if TYPE_CHECKING:
    from workloads.codes import LinearCode
    from workloads.machine import HostMachine

__all__ = ["OPS", "CodeShare", "RepairConfig"]

OPS = ("xor", "gf256")


@dataclass(frozen=True, slots=True)
class CodeShare:
    """The code of a job, and which of its nodes the hosts are."""

    name: str
    """a name in `workloads.codes.CODES`"""
    n: int
    k: int
    d: int
    lost: int
    """node that the newcomer becomes"""
    donors: tuple[int, ...]
    """nodes that the donors are, by rank"""

    @property
    def code(self) -> LinearCode:
        """Raises ValueError for a code that cannot be."""
        from workloads.codes import create_code  # its fields are NumPy arrays

        return create_code(self.name, self.n, self.k, self.d)


@dataclass(frozen=True, slots=True)
class RepairConfig:
    """A HostConfig (`workloads.config`). Ranks 0 .. d-1 are donors, rank d is the newcomer."""

    name: str
    collective: JobShare
    workload: WorkloadConfig
    """gradients of all ranks, which one after the other make up the file; `elements`: words of 4 bytes that a node
    stores"""
    share: CodeShare
    answers: tuple[Envelope, ...]
    """headers of sent packets. A donor sends to the switch that combines, or to the newcomer. The newcomer sends its
    acknowledgements to the switch, or to each donor by rank"""
    combined: bool
    """switches combine: what leaves and what comes carries a service's address"""
    op: str = "xor"
    """node that multiplies a donor's symbols by its coefficient: xor, the donor; gf256, the node that combines"""
    elements: int = 256
    """elements of a full packet"""
    first_slot: int = 0
    window: int = 32
    """W, packets of a donor that may wait for their acknowledgement, each in an index of its own"""
    rto_ns: int = 10_000_000
    """least wait, as of a SwitchML worker (`workloads.datagrams.retransmission`)"""

    def create(self, start_ns: int) -> HostMachine:
        from workloads.repair import create_host  # whose module knows this configuration

        return create_host(self, start_ns)

    @property
    def is_newcomer(self) -> bool:
        return self.collective.rank == self.share.d

    @property
    def everyone(self) -> int:
        """Bitmap of all donors."""
        return (1 << self.share.d) - 1

    @property
    def symbol_bytes(self) -> int:
        """Bytes of one symbol: what a donor sends in an iteration."""
        return 4 * self.workload.elements // self.share.code.alpha

    @property
    def blocks(self) -> int:
        """Packets that this makes."""
        return -(-self.symbol_bytes // (4 * self.elements))

    @property
    def group(self) -> int:
        return self.collective.job

    @property
    def sends(self) -> tuple[Envelope, ...]:
        """The newcomer's acknowledgements carry nothing."""
        return () if self.is_newcomer else self.answers

    @property
    def framing(self) -> Framing:
        payload = 4 * self.elements
        return Framing(payload, AGGREGATION_OVERHEAD_BYTES + payload)

    def reborn(self, lives: int) -> RepairConfig:
        """The same configuration. A restarted donor sends from the beginning, and learns at once what the newcomer has.
        A restarted newcomer has lost data that no donor resends, so the job ends by its time limit."""
        return self
