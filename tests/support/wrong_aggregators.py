"""ATP switches that are wrong, as programs of one's own: what no bitmap tells must be found by the checkers."""

from __future__ import annotations

from switch_nodes.aggregators import AtpProgram
from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.tables import AggregatorEvent

__all__ = ["NeverFrees", "SharesSlots"]


class _BlindToJobs(SlotJudge):
    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        header, slot = a.found.header, self.memory.slots[a.found.header.slot]
        alike = slot is not None and (slot.sequence, slot.tensor) == (header.sequence, header.tensor)
        alike = alike and slot is not None and slot.job != header.job
        if slot is None or not alike or slot.bitmap & header.bitmap0 or header.flags:
            return super().of_contribution(a)
        return AggregatorEvent.COMPLETING if self.completes(slot, a) else AggregatorEvent.NEW


class SharesSlots(AtpProgram):
    """Blocks of two jobs with one number are one sum to it."""

    judge_class = _BlindToJobs


class NeverFrees(AtpProgram):
    """Results go through, and their slots stay full."""

    def free_and_deliver(self, a: AggregatorArrival) -> None:
        self.deliver(a)
