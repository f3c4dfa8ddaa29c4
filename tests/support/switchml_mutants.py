"""SwitchML programs that are wrong in one way each, and the case that finds it (`switchml_cases`)."""

from __future__ import annotations

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember
from switch_nodes.switchml.pool import Pool
from switch_nodes.switchml.program import Contribution, SwitchMlProgram
from switch_nodes.switchml.tables import SlotEvent, SlotState
from workloads.wire.aggregation import AggregationHeader

__all__ = ["MUTANTS"]


class _OneValue(Pool):
    def __init__(self, config: JobConfig) -> None:
        super().__init__(config)
        self.values = np.lib.stride_tricks.as_strided(self.values, strides=(0, *self.values.strides[1:]))


class NoShadowCopy(SwitchMlProgram):
    """Both versions of an index share one value."""

    pool_class = _OneValue


class NoVersionBit(SwitchMlProgram):
    def version_of(self, header: AggregationHeader) -> int:
        return 0


class NoReplay(SwitchMlProgram):
    def replay(self, c: Contribution) -> None:
        pass


class ReplayToAll(SwitchMlProgram):
    def replay(self, c: Contribution) -> None:
        super().replay(c)
        self.send_result(c, tuple(member for member in c.pool.config.members if member.rank != c.rank))


class BitmapIgnored(SwitchMlProgram):
    """Whatever comes counts, and as many as there are workers make a sum."""

    def slot_event(self, c: Contribution) -> SlotEvent:
        event = super().slot_event(c)
        if event not in (SlotEvent.NEW, SlotEvent.COMPLETING, SlotEvent.REPEAT):
            return event
        state, inside = c.pool.state(c.version, c.cell), c.pool.inside[c.version][c.cell]
        if state is SlotState.DONE:
            return SlotEvent.REPEAT
        before = inside if state is SlotState.FILLING else 0
        return SlotEvent.COMPLETING if before + 1 == c.pool.size else SlotEvent.NEW


class NeverForgets(SwitchMlProgram):
    """A worker that goes on to one version stays in the bitmap of the other."""

    def move_on(self, c: Contribution) -> None:
        pass


class AddsToTheOldSum(SwitchMlProgram):
    def is_first(self, c: Contribution) -> bool:
        if super().is_first(c):
            c.pool.block[c.version][c.cell], c.pool.length[c.version][c.cell] = c.block, c.datagram.header.nelem
            c.pool.inside[c.version][c.cell] = 0
            c.pool.entered[c.version][c.cell][:] = [0] * c.pool.size
        return False


class BelievesOldCopies(SwitchMlProgram):
    """As the released program, whose packets carry no number: an old copy is a repetition like any other."""

    def is_older(self, block: int, newest: int) -> bool:
        return False

    def slot_event(self, c: Contribution) -> SlotEvent:
        if c.pool.state(c.version, c.cell) is SlotState.DONE:
            return SlotEvent.REPEAT
        return super().slot_event(c)

    def move_on(self, c: Contribution) -> None:
        c.pool.seen[1 - c.version][c.cell] &= ~(1 << c.rank)


class CountsWithoutModulus(SwitchMlProgram):
    def is_older(self, block: int, newest: int) -> bool:
        return block < newest


class BelievesEverybody(SwitchMlProgram):
    """A packet may run ahead of the result that frees its slot."""

    def slot_event(self, c: Contribution) -> SlotEvent:
        event = super().slot_event(c)
        return SlotEvent.NEW if event is SlotEvent.OVERRUN else event

    def move_on(self, c: Contribution) -> None:
        c.pool.seen[1 - c.version][c.cell] &= ~(1 << c.rank)


class AnswersTheLastOnly(SwitchMlProgram):
    def send_result(self, c: Contribution, members: tuple[JobMember, ...]) -> None:
        super().send_result(c, (c.pool.config.members[c.rank],))


class LastExponents(SwitchMlProgram):
    """Not the largest ones but the last."""

    def store(self, c: Contribution) -> None:
        super().store(c)
        header = c.datagram.header
        c.pool.exponents[c.version][c.cell] = header.exponent0, header.exponent1


class OnePool(SwitchMlProgram):
    """The slots of all jobs begin at the same place of the memory."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        first = next(iter(self.served.values()))
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
