"""What a packet is to the slot that it names: the events of `tables`."""

from __future__ import annotations

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.memory import Aggregator, Memory
from switch_nodes.aggregators.tables import AggregatorEvent
from switch_nodes.jobs import AggregatorKnobs
from workloads.wire.aggregation import DatagramFlag

__all__ = ["SlotJudge"]

_HALF = 1 << 31
_RESEND, _OVERFLOW, _EDGE = int(DatagramFlag.RESEND), int(DatagramFlag.OVERFLOW), int(DatagramFlag.EDGE)
_MARKED = int(DatagramFlag.OVERFLOW | DatagramFlag.COLLISION | DatagramFlag.EVICTED)
_NEW, _COMPLETING, _REPEAT, _BYPASS = (
    AggregatorEvent.NEW,
    AggregatorEvent.COMPLETING,
    AggregatorEvent.REPEAT,
    AggregatorEvent.BYPASS,
)
_OTHER, _RESULT_OWN, _RESULT_OTHER = (
    AggregatorEvent.OTHER,
    AggregatorEvent.RESULT_OWN,
    AggregatorEvent.RESULT_OTHER,
)
_RESEND_OWN, _RESEND_OTHER = AggregatorEvent.RESEND_OWN, AggregatorEvent.RESEND_OTHER


class SlotJudge:
    """Changes nothing. A subclass may override its methods."""

    def __init__(self, memory: Memory, knobs: AggregatorKnobs) -> None:
        self.memory, self.knobs, self._reclaims = memory, knobs, knobs.reclaim

    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        slot = self.memory.occupant(a.slot)
        if a.flags & _RESEND:
            return self.of_resend(a, slot)
        if a.flags & _MARKED or not self.belongs_here(a):
            return _BYPASS
        if slot is None:
            return _COMPLETING if a.bitmap == a.wanted else _NEW
        if slot.is_of(a):
            if slot.size != a.count:
                return AggregatorEvent.MISMATCH
            if slot.bitmap & a.bitmap:  # then all of it: racks are added as a whole
                return _REPEAT
            return _COMPLETING if self.completes(slot, a) else _NEW
        if self._reclaims and slot.served is a.served and self.is_successor(slot, a):
            return AggregatorEvent.SUCCESSOR
        if self.is_preferred(slot, a) and a.bitmap != a.wanted:
            return AggregatorEvent.OTHER_LOWER
        return _OTHER

    def of_resend(self, a: AggregatorArrival, slot: Aggregator | None) -> AggregatorEvent:
        if slot is None or not slot.is_of(a):
            return _RESEND_OTHER
        return _RESEND_OWN if slot.size == a.count else AggregatorEvent.MISMATCH

    def of_result(self, a: AggregatorArrival) -> AggregatorEvent:
        if not self.is_owner(a):
            return _RESULT_OTHER
        return AggregatorEvent.RESULT_OVERFLOW if a.flags & _OVERFLOW and not a.flags & _RESEND else _RESULT_OWN

    def of_reminder(self, a: AggregatorArrival) -> AggregatorEvent:
        return AggregatorEvent.REMINDER_OWN if self.is_owner(a) else AggregatorEvent.REMINDER_OTHER

    def is_owner(self, a: AggregatorArrival) -> bool:
        """Whether the slot serves the block that the server speaks of; it need not know the tensor."""
        slot = self.memory.occupant(a.slot)
        return slot is not None and slot.served is a.served and slot.sequence == a.sequence

    def belongs_here(self, a: AggregatorArrival) -> bool:
        served = a.served
        assert served is not None
        return served.joins(a.port, a.rank, a.sequence, a.bitmap, a.flags & _EDGE != 0)

    def completes(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        """Decided by who is inside, not by how many packets came."""
        return slot.bitmap | a.bitmap == slot.target

    def is_successor(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        """Of a newer tensor, or a window later in the same one; both are counted modulo 2^32. A worker that sends it
        has the result of the slot's block, which is complete. Where a job has more blocks outstanding than the switch
        has indices, two of them may name one index: those are no successors."""
        if a.tensor != slot.tensor:
            return (a.tensor - slot.tensor) & 0xFFFFFFFF < _HALF
        window: int = slot.served.config.window
        return window <= (a.sequence - slot.sequence) & 0xFFFFFFFF < _HALF

    def is_preferred(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        """Strictly: a tie keeps the occupant."""
        return a.priority > slot.priority
