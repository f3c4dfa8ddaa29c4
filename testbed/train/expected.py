"""Judges for the pieces of a training. This is the reference of the checkers, which works out what the workers must
hold from the ranks' own gradients. Where sums are approximate, it is a judge that the protocol brings along."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from testbed.checkers.contract import judged_protocol
from testbed.checkers.pieces import PieceJudge
from testbed.checkers.reference import expected_results
from testbed.history import Record
from testbed.history.training_events import PieceExpected
from testbed.plan import Plan
from testbed.scenario.protocols.own_code import guarded, is_own_code, require
from testbed.train.planning import has_one_size
from workloads.gradients.external import ENDLESS
from workloads.machine import Event
from workloads.ownvalues import Allowed, misfit

__all__ = ["RunningReference", "piece_judge"]

Array = NDArray[Any]


class _Fed:
    """A source whose next gradient is put into it."""

    def __init__(self) -> None:
        self.next: Array = np.empty(0, np.float32)

    def gradient(self, iteration: int) -> Array:
        return self.next

    def apply(self, iteration: int, total: Array) -> None:
        pass


def piece_judge(plan: Plan) -> PieceJudge:
    name = plan.scenario.job.protocol
    protocol = judged_protocol(name)
    make = protocol.piece_judge()
    if make is None:
        return RunningReference(plan)
    if is_own_code(name):
        make = guarded(require(protocol.piece_judge, make, Allowed("a function, or None", callable)), name, "protocol")
    judge = require(make, make(plan), Allowed("a PieceJudge: posted, hear and conclude are methods", _judges))
    return _OwnJudge(judge, name) if is_own_code(name) else cast(PieceJudge, judge)


def _judges(found: object) -> bool:
    return all(callable(getattr(found, verb, None)) for verb in ("posted", "hear", "conclude"))


class _OwnJudge:
    """A PieceJudge of the user's own: what its methods raise, or give that is no event, is reported as the user's."""

    def __init__(self, judge: Any, name: str) -> None:
        self._posted, self._hear, self._conclude = (
            guarded(_listed(verb), name, "protocol") for verb in (judge.posted, judge.hear, judge.conclude)
        )

    def posted(self, iteration: int, gradients: Sequence[Array]) -> Iterable[Event]:
        return _events(self._posted, self._posted(iteration, gradients))

    def hear(self, record: Record) -> Iterable[Event]:
        return _events(self._hear, self._hear(record))

    def conclude(self) -> Iterable[Event]:
        return _events(self._conclude, self._conclude())


def _listed(verb: Callable[..., Any]) -> Callable[..., Any]:
    """A generator runs to its end."""

    @wraps(verb)
    def ask(*args: Any) -> Any:
        found = verb(*args)
        return tuple(found) if isinstance(found, Iterable) else found

    return ask


def _events(verb: Callable[..., Any], found: Any) -> tuple[Event, ...]:
    allowed = Allowed("events", lambda events: misfit(events, tuple[Event, ...]) is None)
    return cast(tuple[Event, ...], require(verb, found, allowed))


class RunningReference:
    """A PieceJudge that folds piece after piece as the plan's collective does, before any event about them."""

    def __init__(self, plan: Plan) -> None:
        workers: tuple[Any, ...] = plan.workers  # dataclasses, which no protocol can say
        endless = tuple(replace(worker, workload=replace(worker.workload, iterations=ENDLESS)) for worker in workers)
        self._fill_up = plan.workers[0].workload.elements if has_one_size(plan) else 0
        self._sources: dict[int, _Fed] = {rank: _Fed() for rank in range(len(plan.workers))}
        self._results = expected_results(
            replace(plan, workers=endless), lambda config, rank, size, dtype: self._sources[rank]
        )

    def hear(self, record: Record) -> tuple[PieceExpected, ...]:
        return ()

    def conclude(self) -> tuple[PieceExpected, ...]:
        return ()

    def posted(self, iteration: int, gradients: Sequence[Array]) -> tuple[PieceExpected, ...]:
        """The digests of the result that each worker must have: SHA-256 of its bytes."""
        for rank, gradient in enumerate(gradients):
            if len(gradient) < self._fill_up:
                filled = np.zeros(self._fill_up, np.float32)
                filled[: len(gradient)] = gradient
                gradient = filled
            self._sources[rank].next = gradient
        digests: dict[int, str] = {}
        found_digests = []
        for result in next(self._results):
            if id(result) not in digests:
                digests[id(result)] = hashlib.sha256(result.astype("<f4", copy=False).tobytes()).hexdigest()
            found_digests.append(digests[id(result)])
        return (PieceExpected(iteration, tuple(found_digests)),)
