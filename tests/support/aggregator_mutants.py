"""ATP and ESA programs that are wrong in one way each, and the case that finds each (`aggregator_cases` and others)."""

from __future__ import annotations

from switch_nodes.aggregators import AtpProgram, EsaProgram
from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.memory import Aggregator, Memory
from switch_nodes.aggregators.tables import AggregatorEvent
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs
from tests.support.aggregator_bench import Programs

__all__ = ["MUTANTS", "Mutant", "programs_of"]

Mutant = type[AggregatorProgram] | type[SlotJudge]


def programs_of(mutant: Mutant) -> Programs:
    """Both programs with the fault."""
    if issubclass(mutant, SlotJudge):
        parts: dict[str, object] = {"judge_class": mutant}
        return Programs(type("Atp", (AtpProgram,), parts), type("Esa", (EsaProgram,), parts))
    return Programs(type("Atp", (mutant, AtpProgram), {}), type("Esa", (mutant, EsaProgram), {}))


class ResendAllocates(SlotJudge):
    def of_resend(self, a: AggregatorArrival, slot: Aggregator | None) -> AggregatorEvent:
        if slot is None:
            return AggregatorEvent.NEW
        return super().of_resend(a, slot)


class ResendCollides(AggregatorProgram):
    def pass_on(self, a: AggregatorArrival) -> None:
        self.collide(a)


class ResendAddsTwice(AggregatorProgram):
    """The partial sum of the slot and the packet's part, whether or not it is inside."""

    def flush(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.found.header.slot)
        slot.add(a)
        super().flush(a)


class ResendKeepsTheSlot(AggregatorProgram):
    """The partial sum leaves, and stays."""

    def flush(self, a: AggregatorArrival) -> None:
        index = a.found.header.slot
        slot = self._occupant(index)
        super().flush(a)
        self.memory.slots[index] = slot


class PreemptsOnATie(SlotJudge):
    def is_preferred(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        return a.found.header.priority >= slot.priority


class PreemptsNobody(SlotJudge):
    def is_preferred(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        return False


class EvictsToTheWrongServer(AggregatorProgram):
    """The evicted packet goes to the server of the job that took the slot."""

    def evict(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.found.header.slot)
        owner, slot.served = slot.served, a.served
        self._send_occupant(a, "evicted")
        owner.occupy(-1, self._now)
        a.served.occupy(1, self._now)
        self.add(a)


class EvictsInSilence(AggregatorProgram):
    """Who is evicted is lost."""

    def evict(self, a: AggregatorArrival) -> None:
        self.memory.free(a.found.header.slot, self._now)
        self.add(a)


class EvictsAndCollides(AggregatorProgram):
    """The occupant leaves, and the newcomer passes on: one in, two out."""

    def evict(self, a: AggregatorArrival) -> None:
        self._send_occupant(a, "evicted")
        self._send_on(a, 2)


class FreesOnEveryResult(SlotJudge):
    """Whoever owns the slot."""

    def is_owner(self, a: AggregatorArrival) -> bool:
        return self.memory.slots[a.found.header.slot] is not None


class FreesForAnyJob(SlotJudge):
    """The number of the block decides, not whose it is."""

    def is_owner(self, a: AggregatorArrival) -> bool:
        slot = self.memory.slots[a.found.header.slot]
        return slot is not None and slot.sequence == a.found.header.sequence


class NeverFrees(SlotJudge):
    def is_owner(self, a: AggregatorArrival) -> bool:
        return False


class CountsPackets(SlotJudge):
    """The fan-in is compared with the number of packets that came, copies included."""

    def __init__(self, memory: Memory, knobs: AggregatorKnobs) -> None:
        super().__init__(memory, knobs)
        self._packets: dict[int, int] = {}

    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        slot = self.memory.slots[a.found.header.slot]
        key = id(slot)
        if slot is not None:
            self._packets[key] = self._packets.get(key, 1) + 1
        event = super().of_contribution(a)
        if slot is None or event not in (AggregatorEvent.NEW, AggregatorEvent.COMPLETING, AggregatorEvent.REPEAT):
            return event
        if slot.bitmap == slot.served.target:
            return AggregatorEvent.REPEAT
        return AggregatorEvent.COMPLETING if self._packets[key] >= slot.served.size else AggregatorEvent.NEW


class FreesBeforeTheResult(AggregatorProgram):
    """A complete sum leaves its slot as soon as it is sent to the server, though only the result makes it safe."""

    def send_sum(self, a: AggregatorArrival) -> None:
        super().send_sum(a)
        self.memory.free(a.found.header.slot, self._now)


class ReclaimsNothing(SlotJudge):
    """A ghost stays for ever."""

    def is_successor(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        return False


class ReclaimsTheNewer(SlotJudge):
    def is_successor(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        return True


class ReclaimsWithoutModulus(SlotJudge):
    def is_successor(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        header = a.found.header
        return (header.tensor, header.sequence) > (slot.tensor, slot.sequence)


class ReclaimsWithinTheWindow(SlotJudge):
    def is_successor(self, slot: Aggregator, a: AggregatorArrival) -> bool:
        return a.found.header.sequence > slot.sequence


class ReclaimAddsToTheGhost(AggregatorProgram):
    """The slot changes its owner and keeps its value."""

    def reclaim(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.found.header.slot)
        slot.sequence, slot.tensor, slot.bitmap = a.sequence, a.tensor, 1 << 31
        self._step(a, self.judge.of_contribution(a))
        slot.bitmap &= ~(1 << 31)


class ReclaimEvicts(AggregatorProgram):
    """What is complete is sent to the server once more."""

    def reclaim(self, a: AggregatorArrival) -> None:
        self._send_occupant(a, "evicted")
        self._step(a, self.judge.of_contribution(a))


class CollisionUnmarked(AggregatorProgram):
    def collide(self, a: AggregatorArrival) -> None:
        self._send_on(a, 0)


class CollisionDropped(AggregatorProgram):
    def collide(self, a: AggregatorArrival) -> None:
        pass


class AggregatesWhatIsMarked(SlotJudge):
    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        flags = a.flags
        a.flags = flags if flags & 1 else flags & ~(2 | 4 | 16)
        event = super().of_contribution(a)
        a.flags = flags
        return event


class NoSecondSum(AggregatorProgram):
    """A copy of a contribution to a complete sum is dropped like any other."""

    def repeat_sum(self, a: AggregatorArrival) -> None:
        self.drop_duplicate(a)


class ForgetsMarks(AggregatorProgram):
    """Only the last contribution's mark leaves."""

    def add(self, a: AggregatorArrival) -> Aggregator:
        slot = super().add(a)
        slot.congested = a.congested
        return slot


class ForgetsMarksOfCopies(AggregatorProgram):
    def drop_duplicate(self, a: AggregatorArrival) -> None:
        self._drop(a, "duplicate")


class AgesNot(AggregatorProgram):
    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        self._age = lambda priority: priority


class AgesAroundZero(AggregatorProgram):
    """Below 0 comes 255."""

    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        age = self._age
        self._age = lambda priority: (priority - 1) & 255 if self.knobs.age == "minus1" else age(priority)


class LastPriority(AggregatorProgram):
    """Of the last contribution, not the highest."""

    def add(self, a: AggregatorArrival) -> Aggregator:
        slot = super().add(a)
        slot.priority = a.found.header.priority
        return slot


class KeepsWhatItReleases(AggregatorProgram):
    def release(self, a: AggregatorArrival) -> None:
        super().release(a)
        self.memory.take(a, self._now).bitmap = 1


class CopyAlways(AggregatorProgram):
    """The server gets the result, asked for or not."""

    def release(self, a: AggregatorArrival) -> None:
        super().release(a)
        if not self.knobs.ps_copy:
            self._send_on(a, 0)


class RemindsAndKeeps(AggregatorProgram):
    def send_reminded(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.found.header.slot)
        super().send_reminded(a)
        self.memory.slots[a.found.header.slot] = slot


class SilentReminders(AggregatorProgram):
    """Who has nothing says nothing."""

    def answer_empty(self, a: AggregatorArrival) -> None:
        pass


class ResultsToTheLastOnly(AggregatorProgram):
    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        for served in self.served.values():
            served.here = served.here[-1:]


class LastExponents(AggregatorProgram):
    def add(self, a: AggregatorArrival) -> Aggregator:
        slot = super().add(a)
        slot.exponent0, slot.exponent1 = a.exponent0, a.exponent1
        return slot


class OneSlotForAll(AggregatorProgram):
    """The index decides, not the job: a block of another job goes into the same sum."""

    def collide(self, a: AggregatorArrival) -> None:
        self.add(a)


class RepairsToAll(AggregatorProgram):
    """A result for one worker goes to all."""

    def deliver(self, a: AggregatorArrival) -> None:
        a.destination = a.served.service
        super().deliver(a)


class OverflowFrees(SlotJudge):
    def of_result(self, a: AggregatorArrival) -> AggregatorEvent:
        event = super().of_result(a)
        return AggregatorEvent.RESULT_OWN if event is AggregatorEvent.RESULT_OVERFLOW else event


class GhostsAreLeftovers(AggregatorProgram):
    def finish(self, now: int) -> None:
        for served in self.served.values():
            served.delivered.clear()
        super().finish(now)


class SumsTwice(AggregatorProgram):
    """Tells of a block again when copies of all contributions came."""

    def _tell_sum(self, a: AggregatorArrival, slot: Aggregator) -> None:
        a.served.delivered.clear()
        super()._tell_sum(a, slot)


MUTANTS: dict[Mutant, str] = {
    ResendAllocates: "resend_never_allocates",
    ResendCollides: "resend_never_allocates",
    ResendAddsTwice: "resend_flushes",
    ResendKeepsTheSlot: "resend_flushes",
    PreemptsOnATie: "a_tie_keeps_the_occupant",
    PreemptsNobody: "preemption",
    EvictsToTheWrongServer: "preemption",
    EvictsInSilence: "preemption",
    EvictsAndCollides: "preemption",
    FreesOnEveryResult: "results_free_their_own_slot",
    FreesForAnyJob: "results_free_their_own_slot",
    NeverFrees: "basic_reduction",
    CountsPackets: "ignore_retransmissions",
    FreesBeforeTheResult: "retransmit_after_reduction",
    ReclaimsNothing: "ghosts_are_reclaimed",
    ReclaimsTheNewer: "reclaim_follows_the_count",
    ReclaimsWithoutModulus: "reclaim_follows_the_count",
    ReclaimsWithinTheWindow: "reclaim_needs_a_window",
    ReclaimAddsToTheGhost: "ghosts_are_reclaimed",
    ReclaimEvicts: "ghosts_are_reclaimed",
    CollisionUnmarked: "collision",
    CollisionDropped: "collision",
    AggregatesWhatIsMarked: "a_marked_packet_is_not_aggregated",
    NoSecondSum: "retransmit_after_reduction",
    ForgetsMarks: "congestion_is_carried",
    ForgetsMarksOfCopies: "congestion_is_carried",
    AgesNot: "ageing",
    AgesAroundZero: "ageing",
    LastPriority: "a_slot_has_its_highest_priority",
    KeepsWhatItReleases: "early_release",
    CopyAlways: "early_release",
    RemindsAndKeeps: "reminders",
    SilentReminders: "reminders",
    ResultsToTheLastOnly: "basic_reduction",
    LastExponents: "largest_exponents",
    OneSlotForAll: "collision",
    RepairsToAll: "a_repair_frees_and_passes",
    OverflowFrees: "an_overflow_is_not_final",
    GhostsAreLeftovers: "a_ghost_is_no_leftover",
    SumsTwice: "copies_of_all_are_the_same_sum_again",
}
