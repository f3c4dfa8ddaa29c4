"""Configuration of one worker of ATP or ESA. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workloads.codec import unless_default
from workloads.config import Framing, JobShare, WorkerConfig, WorkloadConfig
from workloads.datagrams.priority import PRIORITIES
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

if TYPE_CHECKING:
    from workloads.machine import HostMachine

__all__ = ["AtpConfig"]


@dataclass(frozen=True, slots=True)
class AtpConfig:
    """A HostConfig (`workloads.config`)."""

    CHOICES: ClassVar[Mapping[str, Iterable[str]]] = {"priority": PRIORITIES}
    """words that a field may have, where files give them"""
    name: str
    collective: JobShare
    workload: WorkloadConfig
    envelope: Envelope
    """headers of sent packets: the destination is the address and MAC of the parameter server"""
    elements: int = 256
    """elements of a full packet, which is a block; an even number"""
    window: int = 32
    """W: entries of the slot table, and packets outstanding at most; the same for all workers of the job"""
    memory: int = 256
    """aggregators of the switch"""
    salt: int = 0
    """salt of the slot table; the same for all workers of the job and its server"""
    rto_ns: int = 10_000_000
    """a packet without a result is sent again after that, or after four times the measured round trip if that is
    more"""
    aimd: bool = True
    """the window follows the marks of congestion"""
    ways: int = 1
    """number of paths that blocks take in turn. A result that overtakes others of its path shows that those are lost.
    0: each frame takes any path, and only timers show losses"""
    fan_in: tuple[int, int] = (0, 0)
    """workers of its rack, and racks, where switches of two levels sum; (0, 0): one level"""
    place: tuple[int, int] = (0, 0)
    """number of its rack, and its place there: the worker's name in a job of more workers than `bitmap0` names"""
    fixed_scale: float | None = None
    """factor that turns floats into integers, which saturate; None: exponents"""
    priority: str = "equal"
    """a name in `workloads.datagrams.priority`; ESA only"""
    priority_x0: float | None = None
    """where its scale begins; None: the rule's own"""
    mesh: WorkerConfig | None = unless_default(None)
    """connections with every other rank, for operations of a training that are no sums of all ranks"""

    def create(self, start_ns: int) -> HostMachine:
        from workloads.atp import create_worker  # whose module knows this configuration

        return create_worker(self, start_ns)

    @property
    def group(self) -> int:
        return self.collective.job

    @property
    def sends(self) -> tuple[Envelope, ...]:
        return (self.envelope,)

    @property
    def framing(self) -> Framing:
        payload = 4 * self.elements
        return Framing(payload, AGGREGATION_OVERHEAD_BYTES + payload)

    def reborn(self, lives: int) -> AtpConfig:
        """The same configuration. A restarted worker asks for the sums from the beginning. It catches up while the
        server has them all. Otherwise the server reports that they are gone, and the worker fails."""
        return self
