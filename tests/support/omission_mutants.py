"""Bugs planted in the operations of SwitchML, in what its workers and its switch omit; and a run of each operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from switch_nodes.switchml.service import Contribution, PoolService
from switch_nodes.switchml.tables import PoolSlotEvent
from testbed.hunt.judge import CheckFailure, Machines, run_and_judge
from testbed.scenario import load_scenario
from tests.support import switchml_mutants as switches
from workloads.automaton import number_of
from workloads.datagrams.quick_worker import QuickWorker
from workloads.gradients import source_of
from workloads.switchml import OmittedParts, SwitchMlConfig, SwitchMlWorker
from workloads.wire.aggregation import DatagramFlag

__all__ = ["OMISSION_PLANTED", "judged"]

_EMPTY, _UNWANTED = int(DatagramFlag.EMPTY), int(DatagramFlag.UNWANTED)
_STALE = number_of(PoolSlotEvent.STALE)
_BLOCK, _ELEMENTS = 64, 1001
"""elements: chunks of three ranks do not end where packets do"""
Span = tuple[int, int]


def judged(operation: str, machines: Machines) -> CheckFailure | None:
    """The first check that a run breaks, which loses packets; None: it breaks none."""
    changes = [
        f"job.operation={operation}", f"job.size={4 * _ELEMENTS}B", "job.iterations=3", "topology.hosts=3",
        "transport.path_mtu=256", "job.window_packets=4", "topology.link.rate=100Mbps", "time_limit=2s",
        "faults=[{kind: loss, rate: 10%}]",
    ]  # fmt: skip
    if operation in ("broadcast", "reduce"):
        changes.append("job.root=1")
    if operation == "barrier":
        changes += ["job.straggler={rank: 2, delay: 5ms}", "job.iterations=20"]
    return run_and_judge(load_scenario("switchml", changes, world="simulated"), machines)[0]


def _parts(change: Callable[[OmittedParts, int], OmittedParts]) -> Machines:
    """`change`: of what a worker omits, and its rank."""

    def employ(config: Any, start_ns: int) -> SwitchMlWorker:
        assert config.omitted is not None
        wrong: SwitchMlConfig = replace(config, omitted=change(config.omitted, config.collective.rank))
        return SwitchMlWorker(wrong, source_of(wrong), start_ns=start_ns)

    return Machines(employ=employ)


def _given(change: Callable[[Span], Span]) -> Machines:
    return _parts(lambda parts, rank: replace(parts, given=change(parts.given)))


def _wanted(change: Callable[[Span], Span]) -> Machines:
    return _parts(lambda parts, rank: replace(parts, wanted=change(parts.wanted)))


def _later(span: Span) -> Span:
    return span[0] + _BLOCK, max(0, span[1] - _BLOCK)


def _shorter(span: Span) -> Span:
    """Its last block is lost."""
    return span[0], max(0, span[1] - _BLOCK - 1)


def _others(span: Span) -> Span:
    """Of the rank before; all of them where it was none, none where it was all."""
    if span in ((0, _ELEMENTS), (0, 0)):
        return 0, _ELEMENTS - span[1]
    return (span[0] - span[1]) % (_ELEMENTS - span[1]), span[1]


class _CopiesNothing(SwitchMlWorker):
    def begin(self, now: int) -> None:
        QuickWorker.begin(self, now)
        self._training.result[:] = 0


class _EndsAtOnce(SwitchMlWorker):
    """Its packet has left, and it does not wait for the others."""

    def give(self, now: int) -> bytes | None:
        frame, window = super().give(now), self._window
        if frame is not None and window.is_outstanding(window.first):
            window.settle(window.first, now)
            self.complete(now)
        return frame


def _worker(kind: type[SwitchMlWorker]) -> Machines:
    return Machines(employ=lambda config, start_ns: kind(config, source_of(config), start_ns=start_ns))  # type: ignore[arg-type]


def _switch(kind: type[PoolService]) -> Machines:
    program = type("Broken", (switches.SwitchMlProgram,), {"service_class": kind})
    return Machines(create=lambda config: program(config))


def _program(kind: type[switches.SwitchMlProgram]) -> Machines:
    return Machines(create=lambda config: kind(config))


class _EmptyClears(PoolService):
    """What came before a contribution without elements is gone."""

    def store(self, c: Contribution) -> None:
        super().store(c)
        if c.flags & _EMPTY:
            switches.pool_of(c).length[c.place] = -1


class _EmptyIgnored(PoolService):
    """A contribution without elements does not count."""

    def store(self, c: Contribution) -> None:
        if not c.flags & _EMPTY:
            super().store(c)


class _EmptyKeepsTheOld(PoolService):
    """The first contribution has no elements, and those of the block before stay."""

    def store(self, c: Contribution) -> None:
        pool = switches.pool_of(c)
        before = pool.length[c.place]
        super().store(c)
        if c.flags & _EMPTY and pool.length[c.place] < 0:
            pool.length[c.place] = before


class _WantedStays(PoolService):
    """Who wanted the sum of the block before gets that of this one, too."""

    def store(self, c: Contribution) -> None:
        pool = switches.pool_of(c)
        before = pool.wanted[c.place]
        super().store(c)
        pool.wanted[c.place] |= before


class _WantedByTheLast(PoolService):
    def store(self, c: Contribution) -> None:
        pool = switches.pool_of(c)
        pool.wanted[c.place] = 0
        super().store(c)
        pool.wanted[c.place] = 0 if c.flags & _UNWANTED else 1 << c.rank


class _NoAcknowledgement(PoolService):
    """Nothing is sent to those that do not need the sum."""

    def send_result(self, c: Contribution, first: int, end: int) -> None:
        for rank in range(first, end):
            if switches.pool_of(c).wanted[c.place] >> rank & 1:
                super().send_result(c, rank, rank + 1)


class _RepeatsWithout(PoolService):
    """A repetition gets a result without elements."""

    def replay(self, c: Contribution) -> None:
        switches.pool_of(c).wanted[c.place] &= ~(1 << c.rank)
        super().replay(c)


class _RepeatsWith(PoolService):
    """A repetition gets the elements, wanted or not."""

    def replay(self, c: Contribution) -> None:
        switches.pool_of(c).wanted[c.place] |= 1 << c.rank
        super().replay(c)


class _RepetitionAdded(PoolService):
    """What is sent again to a sum that is not complete counts again."""

    def slot_event(self, c: Contribution) -> int:
        event = super().slot_event(c)
        filling = switches.pool_of(c).state(c.place) == switches.FILLING
        return switches.NEW if event == switches.REPEAT and filling else event


class _Overwrites(PoolService):
    """Elements replace those that came before."""

    def store(self, c: Contribution) -> None:
        pool = switches.pool_of(c)
        if not c.flags & _EMPTY and pool.seen[c.place]:
            pool.length[c.place] = -1
        super().store(c)


class _ExponentsOmitted(PoolService):
    def send_result(self, c: Contribution, first: int, end: int) -> None:
        pool = switches.pool_of(c)
        pool.exponent0[c.place] = pool.exponent1[c.place] = -126
        super().send_result(c, first, end)


class _CompletesAtOnce(PoolService):
    def slot_event(self, c: Contribution) -> int:
        event = super().slot_event(c)
        return switches.COMPLETING if event == switches.NEW else event


class _EmptyRefused(PoolService):
    def slot_event(self, c: Contribution) -> int:
        return _STALE if c.flags & _EMPTY else super().slot_event(c)


class _OneTooFew(PoolService):
    """A sum is complete when one is missing."""

    def slot_event(self, c: Contribution) -> int:
        event, pool = super().slot_event(c), switches.pool_of(c)
        inside = pool.inside[c.place] if pool.seen[c.place] else 0
        return switches.COMPLETING if event == switches.NEW and inside + 2 == pool.size else event


class _NeverAgain(PoolService):
    """A repetition is never answered."""

    def replay(self, c: Contribution) -> None:
        pass


_SUMS, _MOVED = ("reduce_scatter", "reduce"), ("all_gather", "broadcast")
_DATA = (*_SUMS, *_MOVED)
_KINDS: Mapping[str, tuple[Machines, Sequence[str]]] = {
    "omits the first block that it gives": (_given(_later), _DATA),
    "omits the last block that it gives": (_given(_shorter), _DATA),
    "gives the part of another rank": (_given(_others), _DATA),
    "wants the part of another rank": (_wanted(_others), _DATA),
    "lacks the first block that it wants": (_wanted(_later), _DATA),
    "lacks the last block that it wants": (_wanted(_shorter), _DATA),
    "takes its own vector for the sum": (_parts(lambda parts, rank: replace(parts, owned=(0, _ELEMENTS))), _DATA),
    "does not copy its own part": (_worker(_CopiesNothing), _MOVED),
    "a contribution without elements clears the others": (_switch(_EmptyClears), _MOVED),
    "a contribution without elements does not count": (_switch(_EmptyIgnored), (*_MOVED, "barrier")),
    "elements of the block before stay": (_switch(_EmptyKeepsTheOld), _MOVED),
    "who wanted the block before gets this one": (_switch(_WantedStays), (*_SUMS, "all_gather")),
    "only the last one gets the sum": (_switch(_WantedByTheLast), _DATA),
    "who needs no sum gets no acknowledgement": (_switch(_NoAcknowledgement), (*_DATA, "barrier")),
    "a repetition gets no elements": (_switch(_RepeatsWithout), _DATA),
    "a repetition gets elements that it does not want": (_switch(_RepeatsWith), _DATA),
    "a repetition is added again": (_switch(_RepetitionAdded), (*_DATA, "barrier")),
    "elements replace the others": (_switch(_Overwrites), _SUMS),
    "the lowest exponents come back": (_switch(_ExponentsOmitted), _SUMS),
    "a sum is complete when one is missing": (_switch(_OneTooFew), (*_DATA, "barrier")),
    "a repetition is never answered": (_switch(_NeverAgain), (*_DATA, "barrier")),
    "the bitmap is ignored": (_program(switches.BitmapIgnored), ("barrier",)),
    "workers stay in the other version": (_program(switches.NeverForgets), ("barrier",)),
    "the first contribution completes a sum": (_switch(_CompletesAtOnce), ("barrier",)),
    "a contribution without elements is refused": (_switch(_EmptyRefused), ("barrier",)),
    "a rank ends when it begins": (_worker(_EndsAtOnce), ("barrier",)),
    "one version serves both": (_program(switches.NoVersionBit), ("barrier",)),
}
OMISSION_PLANTED: Mapping[tuple[str, str], Machines] = {
    (operation, name): machines for name, (machines, operations) in _KINDS.items() for operation in operations
}
"""by operation and kind"""
