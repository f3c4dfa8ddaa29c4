"""SwitchML programs that are wrong in one way each, and the case that finds it (`switchml_cases`)."""

from __future__ import annotations

from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.switchml.pool import Pool
from switch_nodes.switchml.program import SwitchMlProgram
from switch_nodes.switchml.service import Contribution, PoolService
from switch_nodes.switchml.tables import PoolSlotEvent, PoolSlotState
from workloads.automaton import number_of

__all__ = ["MUTANTS", "other_slot", "pool_of"]

NEW, COMPLETING, REPEAT, OVERRUN = (
    number_of(event)
    for event in (PoolSlotEvent.NEW, PoolSlotEvent.COMPLETING, PoolSlotEvent.REPEAT, PoolSlotEvent.OVERRUN)
)
FILLING, DONE = number_of(PoolSlotState.FILLING), number_of(PoolSlotState.DONE)


def pool_of(c: Contribution) -> Pool:
    assert c.pool is not None
    return c.pool


def other_slot(c: Contribution) -> int:
    """The other version of its index."""
    return (1 - c.version) * pool_of(c).slots + c.cell


class _OneValue(Pool):
    def value_at(self, slot: int) -> int:
        return slot % self.slots * self.elements


class NoShadowCopy(SwitchMlProgram):
    """Both versions of an index share one value."""

    pool_class = _OneValue


class _NoVersionBit(PoolService):
    def version_of(self, flags: int) -> int:
        return 0


class NoVersionBit(SwitchMlProgram):
    service_class = _NoVersionBit


class _NoReplay(PoolService):
    def replay(self, c: Contribution) -> None:
        pass


class NoReplay(SwitchMlProgram):
    service_class = _NoReplay


class _ReplayToAll(PoolService):
    def replay(self, c: Contribution) -> None:
        super().replay(c)
        self.send_result(c, 0, c.rank)
        self.send_result(c, c.rank + 1, pool_of(c).size)


class ReplayToAll(SwitchMlProgram):
    service_class = _ReplayToAll


class _BitmapIgnored(PoolService):
    def slot_event(self, c: Contribution) -> int:
        event = super().slot_event(c)
        if event not in (NEW, COMPLETING, REPEAT):
            return event
        pool = pool_of(c)
        state = pool.state(c.place)
        if state == DONE:
            return REPEAT
        before = pool.inside[c.place] if state == FILLING else 0
        return COMPLETING if before + 1 == pool.size else NEW


class BitmapIgnored(SwitchMlProgram):
    """Whatever comes counts, and as many as there are workers make a sum."""

    service_class = _BitmapIgnored


class _NeverForgets(PoolService):
    def move_on(self, c: Contribution) -> None:
        pass


class NeverForgets(SwitchMlProgram):
    """A worker that goes on to one version stays in the bitmap of the other."""

    service_class = _NeverForgets


class _AddsToTheOldSum(PoolService):
    def is_first(self, c: Contribution) -> bool:
        if super().is_first(c):
            pool, slot = pool_of(c), c.place
            pool.block[slot], pool.length[slot], pool.inside[slot] = c.block, c.count, 0
            for rank in range(pool.size):
                pool.entered[slot * pool.size + rank] = 0
        return False


class AddsToTheOldSum(SwitchMlProgram):
    service_class = _AddsToTheOldSum


class _BelievesOldCopies(PoolService):
    def is_older(self, block: int, newest: int) -> bool:
        return False

    def slot_event(self, c: Contribution) -> int:
        return REPEAT if pool_of(c).state(c.place) == DONE else super().slot_event(c)

    def move_on(self, c: Contribution) -> None:
        pool_of(c).seen[other_slot(c)] &= ~(1 << c.rank)


class BelievesOldCopies(SwitchMlProgram):
    """As the released program, whose packets carry no number: an old copy is a repetition like any other."""

    service_class = _BelievesOldCopies


class _CountsWithoutModulus(PoolService):
    def is_older(self, block: int, newest: int) -> bool:
        return block < newest


class CountsWithoutModulus(SwitchMlProgram):
    service_class = _CountsWithoutModulus


class _BelievesEverybody(PoolService):
    def slot_event(self, c: Contribution) -> int:
        event = super().slot_event(c)
        return NEW if event == OVERRUN else event

    def move_on(self, c: Contribution) -> None:
        pool_of(c).seen[other_slot(c)] &= ~(1 << c.rank)


class BelievesEverybody(SwitchMlProgram):
    """A packet may run ahead of the result that frees its slot."""

    service_class = _BelievesEverybody


class _AnswersTheLastOnly(PoolService):
    def send_result(self, c: Contribution, first: int, end: int) -> None:
        super().send_result(c, c.rank, c.rank + 1)


class AnswersTheLastOnly(SwitchMlProgram):
    service_class = _AnswersTheLastOnly


class _LastExponents(PoolService):
    def store(self, c: Contribution) -> None:
        super().store(c)
        pool_of(c).exponent0[c.place], pool_of(c).exponent1[c.place] = c.exponent0, c.exponent1


class LastExponents(SwitchMlProgram):
    """Not the largest ones but the last."""

    service_class = _LastExponents


class OnePool(SwitchMlProgram):
    """The slots of all jobs begin at the same place of the memory."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        first: Any = next(iter(self.served.values()))
        for pool in self.served.values():
            pool.values = first.values


MUTANTS: dict[type[SwitchMlProgram], str] = {
    NoShadowCopy: "retransmit_from_previous_set",
    NoVersionBit: "both_sets_reduction",
    NoReplay: "retransmit_after_reduction",
    ReplayToAll: "retransmit_after_reduction",
    BitmapIgnored: "ignore_retransmissions",
    NeverForgets: "slot_reuse",
    AddsToTheOldSum: "slot_reuse",
    BelievesOldCopies: "late_copy",
    CountsWithoutModulus: "sequence_wraps",
    BelievesEverybody: "overrun",
    AnswersTheLastOnly: "basic_reduction",
    LastExponents: "largest_exponents",
    OnePool: "two_jobs",
}
