"""Two-level NetReduce programs that are wrong in one way each: at the leaf, at the spine, or between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from switch_nodes.config import SwitchConfig
from switch_nodes.netreduce.contribution import RingContribution
from switch_nodes.netreduce.fabric import FabricTable, LeafRing, SpineRing, root_of
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.slot_actions import SlotActions, Switch
from switch_nodes.netreduce.tables import DROP_REASONS, LEAF_SLOT_TABLE, RingSlotAction, RingSlotEvent, RingSlotState
from tests.support.slot_mutants import program_with
from workloads.automaton import Automaton

__all__ = ["FABRIC_MUTANTS", "FABRIC_NOT_HUNTED"]


@program_with
class NeverSentUpAgain(SlotActions):
    """What was lost between leaf and spine stays lost."""

    def send_up_again(self, c: RingContribution, slot: int) -> None:
        self.refresh(c, slot)


@program_with
class SentUpAgainOnlyWithoutValue(SlotActions):
    """A leaf that has the value thinks that nobody above needs its part any more."""

    def send_up_again(self, c: RingContribution, slot: int) -> None:
        if c.ring.done[slot]:
            self.refresh(c, slot)
        else:
            super().send_up_again(c, slot)


@program_with
class GlobalValueSentUp(SlotActions):
    """What a leaf sends up again is the global value, once it has it."""

    def send_up_again(self, c: RingContribution, slot: int) -> None:
        assert isinstance(c.ring, LeafRing)
        if c.ring.done[slot]:
            c.ring.partial[slot] = c.ring.value[slot]
        super().send_up_again(c, slot)


@program_with
class AnyDuplicateSentUp(SlotActions):
    """Every duplicate of the rack sends the sum up again, not the boundary's alone."""

    def refresh(self, c: RingContribution, slot: int) -> None:
        super().refresh(c, slot)
        if isinstance(c.ring, LeafRing) and c.ring.slot_state(slot) is RingSlotState.PARTIAL:
            self._send_up(c.ring, c.message, slot)


@program_with
class ClearedOnPartial(SlotActions):
    """A leaf clears message m - N when its own rack has all of m, not when all racks have."""

    def store_and_send_up(self, c: RingContribution, slot: int) -> None:
        super().store_and_send_up(c, slot)
        super().reclaim(c.ring, c.message, c.offset)

    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        if not isinstance(ring, LeafRing):
            super().reclaim(ring, message, offset)


@program_with
class SpineReplaysToAll(SlotActions):
    def replay(self, c: RingContribution, slot: int) -> None:
        super().replay(c, slot)
        if isinstance(c.ring, SpineRing):
            for rank in range(c.ring.size):
                if rank != c.rank:
                    self.send_result(c.ring, rank, slot)


@program_with
class SpineDoesNotReplay(SlotActions):
    def replay(self, c: RingContribution, slot: int) -> None:
        if isinstance(c.ring, SpineRing):
            self.refresh(c, slot)
        else:
            super().replay(c, slot)


@program_with
class SpineReplaysToSender(SlotActions):
    """To the leaf that repeated it, not to the one behind."""

    def replay(self, c: RingContribution, slot: int) -> None:
        if not isinstance(c.ring, SpineRing):
            super().replay(c, slot)
            return
        c.ring.egress, kept = c.ring.ingress, c.ring.egress
        super().replay(c, slot)
        c.ring.egress = kept


class _OwnRoot(LeafRing):
    def uplink_of(self, number: int) -> int:
        return self.uplinks[root_of(self.ranks[0], number, len(self.uplinks))]


class RootsOfItsOwn(NetReduceProgram):
    """Every leaf has another hash, as ECMP has."""

    leaf_ring_class = _OwnRoot


class _PlainExit(LeafRing):
    def raw_exit(self, rank: int, number: int) -> int | None:
        return None


class StaleByAnyWay(NetReduceProgram):
    """Stale packets of the boundary take the way of plain traffic, whichever spine that is over."""

    leaf_ring_class = _PlainExit


class _TakesAnyValue(LeafRing):
    slot_table = Automaton(
        "leaf_slot",
        {
            **LEAF_SLOT_TABLE,
            (RingSlotState.EMPTY, RingSlotEvent.RESULT): (RingSlotState.DONE, RingSlotAction.ADOPT),
            (RingSlotState.OPEN, RingSlotEvent.RESULT): (RingSlotState.DONE, RingSlotAction.ADOPT),
            (RingSlotState.DONE, RingSlotEvent.NEW): (RingSlotState.DONE, RingSlotAction.STORE),
            (RingSlotState.DONE, RingSlotEvent.COMPLETING): (RingSlotState.DONE, RingSlotAction.STORE),
        },
        RingSlotAction.UNFORESEEN,
        DROP_REASONS,
    )


class _LengthOfTheValue(SlotActions):
    def adopt(self, c: RingContribution, slot: int) -> None:
        c.ring.length[slot] = len(c.elements)
        super().adopt(c, slot)


class ValueTakenBeforeTheRack(NetReduceProgram):
    """A leaf takes a value though hosts of its rack have not contributed."""

    leaf_ring_class = _TakesAnyValue
    slot_actions_class = _LengthOfTheValue


@program_with
class ValuePassedOnOnly(SlotActions):
    """What comes down goes to host 0 as it came, and nowhere else."""

    def adopt(self, c: RingContribution, slot: int) -> None:
        assert isinstance(c.ring, LeafRing)
        self.switch.emit(c.ring.egress[c.ring.boundary], bytes(c.packet.frame))


@program_with
class RackSumTakenForTheValue(SlotActions):
    """A leaf answers its rack with the rack's own sum."""

    def adopt(self, c: RingContribution, slot: int) -> None:
        assert isinstance(c.ring, LeafRing)
        super().adopt(c, slot)
        c.ring.value[slot] = c.ring.partial[slot]


@program_with
class NothingPassedDownAgain(SlotActions):
    """A value that comes again is dropped, whoever may lack it."""

    def pass_down(self, c: RingContribution, slot: int) -> None:
        self.refresh(c, slot)


@program_with
class BoundaryNotSummed(SlotActions):
    """A leaf sums the connections within its rack only; the boundary's is but a carrier."""

    def operands(self, ring: Ring, slot: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        ranks, payloads = super().operands(ring, slot)
        if isinstance(ring, LeafRing) and ring.size > 1:
            return ranks[:-1], payloads[:-1]
        return ranks, payloads


@program_with
class BoundaryFirst(SlotActions):
    """A leaf folds its rack from the boundary on."""

    def operands(self, ring: Ring, slot: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        ranks, payloads = super().operands(ring, slot)
        return (ranks, np.roll(payloads, 1, axis=0)) if isinstance(ring, LeafRing) else (ranks, payloads)


@program_with
class RacksBackwards(SlotActions):
    """A spine folds from the last rack on."""

    def operands(self, ring: Ring, slot: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        ranks, payloads = super().operands(ring, slot)
        return (ranks, payloads[::-1]) if isinstance(ring, SpineRing) else (ranks, payloads)


class _LeafWithOneBank(LeafRing):
    banks_per_window = 1


class _SpineWithOneBank(SpineRing):
    banks_per_window = 1


class _ClearedAtOnce(SlotActions):
    kind: type[Ring]

    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        if not isinstance(ring, self.kind):
            super().reclaim(ring, message, offset)

    def _finish_slot(self, c: RingContribution, slot: int) -> None:
        super()._finish_slot(c, slot)
        if isinstance(c.ring, self.kind):
            for ready in np.flatnonzero(c.ring.released == c.ring.everyone):
                self.clear(c.ring, int(ready))


class _ClearedAtTheLeaf(_ClearedAtOnce):
    kind = LeafRing


class _ClearedAtTheSpine(_ClearedAtOnce):
    kind = SpineRing


class NSlotsAtTheLeaf(NetReduceProgram):
    leaf_ring_class, slot_actions_class = _LeafWithOneBank, _ClearedAtTheLeaf


class NSlotsAtTheSpine(NetReduceProgram):
    spine_ring_class, slot_actions_class = _SpineWithOneBank, _ClearedAtTheSpine


class _Untranslated(FabricTable):
    def infer(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        found = (self.match(other, psn) for other in range(self.ring.connections) if other != rank)
        return next((place for place in found if place is not None), None)


class InferredWithoutTranslation(NetReduceProgram):
    """A PSN of one connection is looked for among those of another as it is."""

    fabric_table_class = _Untranslated


class _Newest(FabricTable):
    def infer(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        """In the newest message of any other connection, by its own opcode's place alone."""
        newest = int(self.ring.newest.max())
        packets = self.ring.packets_of(newest)
        found = super().infer(rank, psn)
        return (newest, found[1], packets) if found is not None and found[1] < packets else found


class InferredAsTheNewest(NetReduceProgram):
    """What lacks its FIRST is taken for part of the newest message that anybody announced."""

    fabric_table_class = _Newest


class _NoInference(FabricTable):
    def infer(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        return None


class NothingInferred(NetReduceProgram):
    fabric_table_class = _NoInference


class _CountingAll(SpineRing):
    def number_of(self, message_id: int) -> int | None:
        return message_id if super().number_of(message_id) is not None else None

    def message_id(self, number: int) -> int:
        return number


class SpineCountsAllMessages(NetReduceProgram):
    """Slots, window and head of a spine go by the ring's messages, most of which never come to it."""

    spine_ring_class = _CountingAll


@program_with
class LeafEarlyOnAll(SlotActions):
    def __init__(self, config: SwitchConfig, switch: Switch) -> None:
        super().__init__(config, switch)
        kept = self._early
        self._early = lambda ring, number: ring.everyone if isinstance(ring, LeafRing) else kept(ring, number)


@program_with
class NothingEarly(SlotActions):
    def __init__(self, config: SwitchConfig, switch: Switch) -> None:
        super().__init__(config, switch)
        self._early = lambda ring, number: 0


FABRIC_MUTANTS: tuple[type[NetReduceProgram], ...] = (
    NeverSentUpAgain, SentUpAgainOnlyWithoutValue, GlobalValueSentUp, AnyDuplicateSentUp, ClearedOnPartial,
    SpineReplaysToAll, SpineDoesNotReplay, SpineReplaysToSender, RootsOfItsOwn, StaleByAnyWay, ValueTakenBeforeTheRack,
    ValuePassedOnOnly, RackSumTakenForTheValue, NothingPassedDownAgain, BoundaryNotSummed, BoundaryFirst,
    RacksBackwards,
    NSlotsAtTheLeaf, NSlotsAtTheSpine, InferredWithoutTranslation, InferredAsTheNewest, NothingInferred,
    SpineCountsAllMessages, LeafEarlyOnAll, NothingEarly,
)  # fmt: skip

FABRIC_NOT_HUNTED: dict[type[NetReduceProgram], str] = {
    StaleByAnyWay: "costs time: another spine drops it, and the receiver's next ACK covers what it would have said "
    "again",
    InferredWithoutTranslation: "first PSNs of a run are all the same, and nothing needs translating, or far apart, "
    "and nothing "
    "is found, which costs time alone",
    LeafEarlyOnAll: "is what `release: asap` does at a leaf: sums stay right, only more is sent again",
    NothingEarly: "costs time, not sums: the timeout of the loser ends what a NAK would have ended sooner",
    NothingInferred: "costs time: what has no FIRST is sent again from its FIRST on",
}
"""broken programs that break no rule of a run, and why"""
