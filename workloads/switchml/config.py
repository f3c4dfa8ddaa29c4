"""Configuration of one SwitchML worker. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads.codec import unless_default
from workloads.config import Framing, JobShare, WorkerConfig, WorkloadConfig
from workloads.uc import UC_FRAME_BYTES, UC_MESSAGE_BYTES, UcPairs
from workloads.uc.config import MOST_UC_PACKETS
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES, MAX_ELEMENTS

if TYPE_CHECKING:
    from workloads.machine import HostMachine

__all__ = ["OmittedParts", "SwitchMlConfig"]


@dataclass(frozen=True, slots=True)
class OmittedParts:
    """Parts of a vector, each (first, number) of elements, that say which elements need not travel."""

    given: tuple[int, int]
    """the rank gives zeros elsewhere; it omits them from packets that have nothing else"""
    wanted: tuple[int, int]
    """the rank needs the sum of these elements alone"""
    owned: tuple[int, int] = (0, 0)
    """no other rank gives any of these elements, so the rank has their sum already"""


@dataclass(frozen=True, slots=True)
class SwitchMlConfig:
    """A HostConfig (`workloads.config`)."""

    name: str
    collective: JobShare
    workload: WorkloadConfig
    envelope: Envelope
    """headers of packets to the switch: the destination is the switch's address and MAC"""
    elements: int = 256
    """elements of a full packet, which is a block; an even number"""
    first_slot: int = 0
    """first slot of the job's part of the pool"""
    window: int = 32
    """W, packets outstanding, each in an index of its own; at most the job's part of the pool"""
    rto_ns: int = 10_000_000
    """a packet without a result is sent again after that, or after four times the measured round trip if that is
    more"""
    uc: UcPairs | None = None
    """over unreliable connections, each packet a message of one or more; None: UDP"""
    omitted: OmittedParts | None = unless_default(None)
    """None: all elements travel, as they always do over UC"""
    mesh: WorkerConfig | None = unless_default(None)
    """connections with every other rank, for operations of a training that are no sums of all ranks"""

    def create(self, start_ns: int) -> HostMachine:
        from workloads.switchml import create_worker  # whose module knows this configuration

        return create_worker(self, start_ns)

    @property
    def group(self) -> int:
        return self.collective.job

    @property
    def sends(self) -> tuple[Envelope, ...]:
        return (self.envelope,)

    @property
    def most_elements(self) -> int:
        """that a packet can have on the wire"""
        return MAX_ELEMENTS if self.uc is None else MAX_ELEMENTS * MOST_UC_PACKETS

    @property
    def framing(self) -> Framing:
        """Over UC: of a full message, all of its frames."""
        payload = 4 * self.elements
        if self.uc is None:
            return Framing(payload, AGGREGATION_OVERHEAD_BYTES + payload)
        return Framing(payload, -(-payload // self.uc.path_mtu) * UC_FRAME_BYTES + UC_MESSAGE_BYTES + payload)

    def reborn(self, lives: int) -> SwitchMlConfig:
        """The same configuration. A restarted worker numbers its packets from the beginning. The switch takes them for
        packets that it knows already, so the job ends by its time limit."""
        return self
