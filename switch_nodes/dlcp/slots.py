"""A job's slots at one switch: for each packet of a gradient that some workers sent, what came of it."""

from __future__ import annotations

from typing import Any

import cython

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job, job_refused
from switch_nodes.jobs import JobConfig
from workloads.datagrams.arrival import Arrival
from workloads.dlcp.packets import template_to
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT

if not cython.compiled:
    from workloads.heap import heap_first, heap_free, heap_new, heap_pop, heap_push, heap_tie
    from workloads.kernels import NEVER, bit_of

__all__ = ["Slot", "SlotPool", "check_jobs"]

_DTYPES = ("float32", "int32")
"""sums of some would stop at the ends of int32sat before the others bring them back"""
_LOW = 32
"""bits of a key that are the packet's number, below those of the iteration"""


class Slot:
    """In use."""

    def __init__(self, index: int, a: Arrival, deadline: int, now: int) -> None:
        self.index = index
        """index in the memory"""
        self.iteration, self.sequence, self.count = a.tensor, a.sequence, a.count
        """iteration, sequence and element count of its first packet"""
        self.deadline, self.opened = deadline, now
        self.rows: dict[int, bytes] = {}
        """frames as they came, by rank"""
        self.bitmap = 0
        """bitmap of these ranks"""
        self.first = a.frame
        self.tos = 0xFF
        """the least, which is the most important class"""


class SlotPool:
    """Times in ns."""

    def __init__(self, config: JobConfig) -> None:
        assert config.levels is not None, "check_jobs saw it"
        assert config.server is not None, "check_jobs saw it"
        self.config, self.job, self.elements = config, config.job, config.elements
        own = config.levels.own
        ranks = config.levels.racks[own] if own is not None else ()
        self.everyone = sum([bit_of(rank) for rank in ranks])
        """bitmap of the workers at this switch's ports"""
        self.ranks = {int.from_bytes(config.members[rank].ip, "big"): rank for rank in ranks}
        """ranks of the members, by IPv4 address"""
        self.server = int.from_bytes(config.server.ip, "big")
        self.template = template_to(
            Envelope(config.service_mac, config.server.mac, config.service_ip, config.server.ip, AGGREGATION_PORT)
        )
        self._wait_ns = config.partial_after_ns
        self.open: dict[int, Slot] = {}
        """open slots by iteration and packet"""
        self._free = list(range(config.first_slot + config.slots - 1, config.first_slot - 1, -1))
        self._timers: Any = heap_new()
        """timers by (deadline, key); those that are not valid any more are passed over"""
        self._timer_count = 0
        self.peak = self.busy_ns = self.useful_ns = 0

    def __dealloc__(self) -> None:
        heap_free(self._timers)

    @property
    def occupied(self) -> int:
        """Slots in use."""
        return len(self.open)

    def slot_of(self, a: Arrival) -> Slot | None:
        """None: its packet has none."""
        return self.open.get(a.tensor << _LOW | a.sequence)

    def begin(self, a: Arrival, now: int) -> Slot | None:
        """None: all are in use."""
        if not self._free:
            return None
        key = a.tensor << _LOW | a.sequence
        slot = self.open[key] = Slot(self._free.pop(), a, now + self._wait_ns, now)
        if heap_push(self._timers, slot.deadline, key, 0, 0) < 0:
            raise MemoryError("no memory for timers")
        self._timer_count += 1
        self.peak = max(self.peak, len(self.open))
        return slot

    def end(self, slot: Slot, now: int, whole: bool) -> None:
        """Its sum leaves. `whole`: with all workers."""
        del self.open[slot.iteration << _LOW | slot.sequence]
        self._free.append(slot.index)
        self.busy_ns += now - slot.opened
        if whole:
            self.useful_ns += now - slot.opened

    def due(self) -> int:
        """When the first slot has waited too long; NEVER: none."""
        while self._timer_count:
            deadline, slot = heap_first(self._timers), self.first_slot()
            if slot is not None and slot.deadline == deadline:
                return deadline
            heap_pop(self._timers)
            self._timer_count -= 1
        return NEVER

    def first_slot(self) -> Slot | None:
        """That of the first timer, which must be there."""
        return self.open.get(heap_tie(self._timers))


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
