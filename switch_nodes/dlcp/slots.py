"""A job's slots at one switch: for each packet of a gradient that some workers sent, what came of it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job, job_refused
from switch_nodes.jobs import JobConfig
from workloads.wire.aggregation import AggregationHeader

__all__ = ["Key", "Slot", "SlotPool", "check_jobs"]

Key = tuple[int, int]
"""(iteration, sequence number of the packet)"""
_DTYPES = ("float32", "int32")
"""sums of some would stop at the ends of int32sat before the others bring them back"""


@dataclass(slots=True)
class Slot:
    index: int
    """of the memory"""
    header: AggregationHeader
    """of its first packet"""
    deadline: int
    opened: int
    rows: dict[int, bytes] = field(default_factory=dict)
    """by rank: elements as they came"""
    tos: int = 0xFF
    """the least, which is the most important class"""


class SlotPool:
    """Times in ns."""

    def __init__(self, config: JobConfig) -> None:
        assert config.levels is not None, "check_jobs saw it"
        self.config = config
        own = config.levels.own
        self.own = frozenset(config.levels.racks[own]) if own is not None else frozenset()
        """ranks at this switch's ports"""
        self.open: dict[Key, Slot] = {}
        self._free = list(range(config.first_slot + config.slots - 1, config.first_slot - 1, -1))
        self._timers: list[tuple[int, Key]] = []
        """(deadline, key); those that are not valid any more are passed over"""
        self.peak = self.busy_ns = self.useful_ns = 0

    @property
    def occupied(self) -> int:
        """Slots in use."""
        return len(self.open)

    def begin(self, header: AggregationHeader, now: int) -> Slot | None:
        """None: all are in use."""
        if not self._free:
            return None
        key = header.tensor, header.sequence
        slot = self.open[key] = Slot(self._free.pop(), header, now + self.config.partial_after_ns, now)
        heapq.heappush(self._timers, (slot.deadline, key))
        self.peak = max(self.peak, len(self.open))
        return slot

    def end(self, key: Key, now: int, *, whole: bool) -> Slot:
        """Its sum leaves. `whole`: with all workers."""
        slot = self.open.pop(key)
        self._free.append(slot.index)
        self.busy_ns += now - slot.opened
        self.useful_ns += (now - slot.opened) * whole
        return slot

    def get_timer(self) -> int | None:
        timers = self._timers
        while timers and not self._is_valid(*timers[0]):
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def due(self, now: int) -> Key | None:
        """A slot that waited too long."""
        deadline = self.get_timer()
        return None if deadline is None or deadline > now else self._timers[0][1]

    def _is_valid(self, deadline: int, key: Key) -> bool:
        slot = self.open.get(key)
        return slot is not None and slot.deadline == deadline


def check_jobs(switch: SwitchConfig) -> None:
    """Raises ScenarioError for jobs that cannot be served."""
    taken: list[range] = []
    for number, config in enumerate(switch.jobs):
        check_job(switch, number, _DTYPES)
        slots = range(config.first_slot, config.first_slot + config.slots)
        if config.slots < 1 or config.first_slot < 0 or slots.stop > switch.memory:
            allowed = f"1 or more, within the {switch.memory} values of memory"
            raise job_refused(switch, config, "slot indices", f"{slots.start} .. {slots.stop - 1}", allowed)
        if any(other.start < slots.stop and slots.start < other.stop for other in taken):
            found, allowed = f"{slots.start} .. {slots.stop - 1}", "a part of the memory of its own"
            raise job_refused(switch, config, "its slots are also those of another job", found, allowed)
        if config.levels is None or config.server is None or config.partial_after_ns < 1:
            allowed = "racks, a server, and how long a slot waits"
            raise job_refused(switch, config, "cannot add", f"a slot waits {config.partial_after_ns} ns", allowed)
        taken.append(slots)
