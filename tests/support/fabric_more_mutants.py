"""More two-level NetReduce programs that are wrong in one way each, for the hunter."""

from __future__ import annotations

from typing import Any

import numpy as np

from switch_nodes.netreduce.fabric import LeafRing, SpineRing
from switch_nodes.netreduce.program import NetReduceProgram, RingContribution
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.slot_actions import SlotActions
from tests.support.slot_mutants import program_with

__all__ = ["MORE_FABRIC_MUTANTS"]


@program_with
class PassesTheRacksSumDown(SlotActions):
    """Host 0 gets its own rack's sum when the value comes again."""

    def pass_down(self, c: RingContribution, slot: int) -> None:
        value = c.ring.value[slot].copy()
        c.ring.value[slot] = c.ring.partial[slot]
        super().pass_down(c, slot)
        c.ring.value[slot] = value


@program_with
class SendsUpBeforeItSums(SlotActions):
    """What goes up is the sum that the slot held before."""

    def store_and_send_up(self, c: RingContribution, slot: int) -> None:
        self.store(c, slot)
        old = c.ring.partial[slot].copy()
        self._sum(c, slot, c.ring.partial)
        new, c.ring.partial[slot] = c.ring.partial[slot].copy(), old
        self._send_up(c.ring, c.message, slot)
        c.ring.partial[slot] = new


@program_with
class AdoptsTheFirstElement(SlotActions):
    """The last element of a value from above stays what it was."""

    def adopt(self, c: RingContribution, slot: int) -> None:
        before = c.ring.value[slot].copy()
        finish = self._finish_slot

        def finished(c: RingContribution, slot: int) -> None:
            last = len(c.elements) - 4
            c.ring.value[slot, last : last + 4] = before[last : last + 4]
            finish(c, slot)

        self._finish_slot = finished  # type: ignore[method-assign]
        super().adopt(c, slot)
        self._finish_slot = finish  # type: ignore[method-assign]


class _ReclaimsTooEarly(SlotActions):
    kind: type[Ring]

    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        super().reclaim(ring, message, offset)
        before = message - (ring.banks - ring.window) + 1
        slot = ring.slot_of(before, offset)
        if isinstance(ring, self.kind) and before >= 0 and before != message and ring.tag[slot] == before:
            self.clear(ring, slot)


@program_with
class LeafReclaimsTooEarly(_ReclaimsTooEarly):
    """A leaf frees the slot of message m - N + 1 with that of m - N."""

    kind = LeafRing


@program_with
class SpineReclaimsTooEarly(_ReclaimsTooEarly):
    """A spine does."""

    kind = SpineRing


@program_with
class LeafNeverReclaims(SlotActions):
    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        if not isinstance(ring, LeafRing):
            super().reclaim(ring, message, offset)


@program_with
class LeafRepeatsTheOldHeader(SlotActions):
    """What goes up again goes under the header of the first time."""

    def send_up_again(self, c: RingContribution, slot: int) -> None:
        self._send_up(c.ring, c.message, slot)


@program_with
class SpineForgetsTheLastRack(SlotActions):
    """The last rack's part does not enter the sum where three racks or more are."""

    def operands(self, ring: Ring, slot: int) -> tuple[Any, Any]:
        ranks, payloads = super().operands(ring, slot)
        many = isinstance(ring, SpineRing) and ring.size > 2
        return (ranks[:-1], payloads[:-1]) if many else (ranks, payloads)


@program_with
class SpineFlushesSubnormals(SlotActions):
    """A spine of other arithmetic than the leaves'."""

    def _sum(self, c: RingContribution, slot: int, into: Any) -> None:
        super()._sum(c, slot, into)
        if isinstance(c.ring, SpineRing) and c.ring.config.arithmetic.dtype == "float32":
            values = into[slot, : int(c.ring.length[slot])].view("<f4")
            values[(values != 0) & (np.abs(values) < np.finfo(np.float32).tiny)] = 0


MORE_FABRIC_MUTANTS: tuple[type[NetReduceProgram], ...] = (
    PassesTheRacksSumDown, SendsUpBeforeItSums, AdoptsTheFirstElement, LeafReclaimsTooEarly, SpineReclaimsTooEarly,
    LeafNeverReclaims, SpineForgetsTheLastRack, SpineFlushesSubnormals, LeafRepeatsTheOldHeader,
)  # fmt: skip
