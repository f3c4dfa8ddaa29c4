"""Who judges the pieces of a training: the reference of the checkers, which works out what the workers must hold from
the ranks' own gradients; or, where sums are approximate, whom the protocol brings along."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from testbed.checkers.pieces import PieceJudge
from testbed.checkers.reference import expected_results
from testbed.history import Record
from testbed.history.training_events import PieceExpected
from testbed.plan import Plan
from testbed.scenario.known import protocol_of
from testbed.train.planning import has_one_size
from workloads.gradients.external import ENDLESS

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
    follow = protocol_of(plan.scenario.job.collective).follow
    return RunningReference(plan) if follow is None else cast(PieceJudge, follow(plan))


class RunningReference:
    """A PieceJudge that folds piece after piece as the plan's collective does, before anything is told of them."""

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
