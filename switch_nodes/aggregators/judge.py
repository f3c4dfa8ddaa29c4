"""What a packet is to the slot that it names: the events of `tables`."""

from __future__ import annotations

from switch_nodes.aggregators.memory import Aggregator, Memory
from switch_nodes.aggregators.packets import Arrival
from switch_nodes.aggregators.tables import SlotEvent
from switch_nodes.jobs import AggregatorKnobs
from workloads.wire.aggregation import DatagramFlag

__all__ = ["SlotJudge"]

_HALF = 1 << 31
_RESEND, _OVERFLOW, _EDGE = int(DatagramFlag.RESEND), int(DatagramFlag.OVERFLOW), int(DatagramFlag.EDGE)
_BYPASS = int(DatagramFlag.OVERFLOW | DatagramFlag.COLLISION | DatagramFlag.EVICTED)


class SlotJudge:
    """Changes nothing."""

    def __init__(self, memory: Memory, knobs: AggregatorKnobs) -> None:
        self.memory, self.knobs = memory, knobs

    def of_contribution(self, a: Arrival) -> SlotEvent:
        header = a.found.header
        slot = self.memory.slots[header.slot]
        if header.flags & _RESEND:
            return self.of_resend(a, slot)
        if header.flags & _BYPASS or not self.belongs_here(a):
            return SlotEvent.BYPASS
        if slot is None:
            return SlotEvent.COMPLETING if header.bitmap0 == a.target else SlotEvent.NEW
        if slot.owner == (header.job, header.sequence, header.tensor):
            if slot.header.nelem != header.nelem:
                return SlotEvent.MISMATCH
            if slot.bitmap & header.bitmap0:  # then all of it: racks are added as a whole
                return SlotEvent.REPEAT
            return SlotEvent.COMPLETING if self.completes(slot, a) else SlotEvent.NEW
        if self.knobs.reclaim and slot.served is a.served and self.is_successor(slot, a):
            return SlotEvent.SUCCESSOR
        if self.is_preferred(slot, a) and header.bitmap0 != a.target:
            return SlotEvent.OTHER_LOWER
        return SlotEvent.OTHER

    def of_resend(self, a: Arrival, slot: Aggregator | None) -> SlotEvent:
        header = a.found.header
        if slot is None or slot.owner != (header.job, header.sequence, header.tensor):
            return SlotEvent.RESEND_OTHER
        if slot.header.nelem != header.nelem:
            return SlotEvent.MISMATCH
        return SlotEvent.RESEND_OWN

    def of_result(self, a: Arrival) -> SlotEvent:
        flags = a.found.header.flags
        if not self.is_owner(a):
            return SlotEvent.RESULT_OTHER
        return SlotEvent.RESULT_OVERFLOW if flags & _OVERFLOW and not flags & _RESEND else SlotEvent.RESULT_OWN

    def of_reminder(self, a: Arrival) -> SlotEvent:
        return SlotEvent.REMINDER_OWN if self.is_owner(a) else SlotEvent.REMINDER_OTHER

    def is_owner(self, a: Arrival) -> bool:
        """Whether the slot serves the block that the server speaks of; it need not know the tensor."""
        header = a.found.header
        slot = self.memory.slots[header.slot]
        return slot is not None and slot.served is a.served and slot.sequence == header.sequence

    def belongs_here(self, a: Arrival) -> bool:
        header = a.found.header
        edge = bool(header.flags & _EDGE)
        return a.served.joins(a.port, a.rank, header.sequence, header.bitmap0, edge=edge)

    def completes(self, slot: Aggregator, a: Arrival) -> bool:
        """Decided by who is inside, not by how many packets came."""
        return slot.bitmap | a.found.header.bitmap0 == slot.target

    def is_successor(self, slot: Aggregator, a: Arrival) -> bool:
        """Of a newer tensor, or a window later in the same one; both are counted modulo 2^32. A worker that sends it
        has the result of the slot's block, which is complete. Where a job has more blocks outstanding than the switch
        has indices, two of them may name one index: those are no successors."""
        header = a.found.header
        if header.tensor != slot.tensor:
            return (header.tensor - slot.tensor) & 0xFFFFFFFF < _HALF
        return slot.served.config.window <= (header.sequence - slot.sequence) & 0xFFFFFFFF < _HALF

    def is_preferred(self, slot: Aggregator, a: Arrival) -> bool:
        """Strictly: a tie keeps the occupant."""
        return a.found.header.priority > slot.priority
