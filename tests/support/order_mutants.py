"""Two-level NetReduce programs and `irn-rack` senders that take the order in which packets come for the order in which
they were sent, each in one way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from switch_nodes.netreduce.contribution import RingContribution
from switch_nodes.netreduce.fabric import LeafRing, SpineRing
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.netreduce.slot_actions import SlotActions
from tests.support.slot_mutants import program_with
from workloads.rc.irn_rack_sender import RackSender
from workloads.rc.rack_window import RackWindow

__all__ = ["ORDER_MUTANTS", "RACK_MUTANTS"]


def _first_lacking(c: RingContribution) -> int:
    """Slot of the first packet of the message that its connection did not bring yet."""
    ring = c.ring
    first = ring.slot_of(c.message, 0)
    for slot in range(first, first + ring.packets_of(c.message)):
        if ring.tag[slot] == c.message and not int(ring.bitmap[slot]) >> c.rank & 1:
            return slot
    return ring.slot_of(c.message, c.offset)


@program_with
class SpineSumsInOrderOfArrival(SlotActions):
    """The n-th packet that a rack sends up of a message is summed with the n-th of the others."""

    def store(self, c: RingContribution, slot: int) -> None:
        super().store(c, slot)
        other = _first_lacking(c) if isinstance(c.ring, SpineRing) else slot
        if other < slot:
            size = len(c.elements)
            c.ring.payload[other, c.rank, :size] = np.frombuffer(c.elements, np.uint8)
            c.ring.payload[slot, c.rank, :size] = 0


@program_with
class LeafTakesValuesInOrder(SlotActions):
    """What comes down is taken for the value of the oldest packet that waits for one."""

    def adopt(self, c: RingContribution, slot: int) -> None:
        ring = c.ring
        first = ring.slot_of(c.message, 0)
        waiting = [
            each
            for each in range(first, slot)
            if ring.tag[each] == c.message and not ring.done[each] and ring.length[each] == len(c.elements)
        ]
        super().adopt(c, slot)
        for each in waiting[:1]:
            ring.value[each, : len(c.elements)] = ring.value[slot, : len(c.elements)]
            ring.done[each] = 1


@program_with
class LaterMessageClosesTheEarlier(SlotActions):
    """A leaf that has the first value of a message takes the one before for delivered, though another spine sums it."""

    def adopt(self, c: RingContribution, slot: int) -> None:
        super().adopt(c, slot)
        ring = c.ring
        if isinstance(ring, LeafRing) and c.offset == 0 and c.message > 0:
            before = ring.slot_of(c.message - 1, 0)
            for each in range(before, before + ring.packets_of(c.message - 1)):
                if ring.tag[each] == c.message - 1 and not ring.done[each]:
                    self.clear(ring, each)


def _rack(kind: type[RackWindow]) -> Callable[[Any], None]:
    def change(worker: Any) -> None:
        for qp in worker._endpoint._order:
            if isinstance(qp.requester.recovery, RackSender):
                qp.requester.recovery.window.__class__ = kind

    change.__name__, change.__doc__ = kind.__name__, kind.__doc__
    return change


@_rack
class EverythingIsOvertaken(RackWindow):
    """What left after the newest packet that was delivered counts as lost too."""

    def detect(self) -> None:
        self._newest_order = 1 << 60
        super().detect()


@_rack
class RackTimersAtOnce(RackWindow):
    """The oldest packet is sent again whenever something behind it was delivered, again and again."""

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        new = super().heard(is_gap, cumulative, selective)
        if self.in_flight and not new and self.una in self._flights:
            self.timed_out()
        return new


ORDER_MUTANTS: tuple[type[NetReduceProgram], ...] = (
    SpineSumsInOrderOfArrival,
    LeafTakesValuesInOrder,
    LaterMessageClosesTheEarlier,
)
RACK_MUTANTS: tuple[Callable[[Any], None], ...] = (EverythingIsOvertaken, RackTimersAtOnce)
