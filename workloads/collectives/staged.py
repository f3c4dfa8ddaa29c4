"""The iterations of a parallelisation strategy: all-reduces and reshards one after the other, with computing between
them (`docs/strategies.md`).

Rules of this file
- Each stage is a phase with its own part of the gradient and of the result. So the next stages do not change data that
  is not yet acknowledged.
- A stage begins when this worker has the whole result of the one before and has then computed for the stage's time.
  Peers may be ahead: a phase accepts data that comes early.
- A reshard is an all-gather: each worker puts its own chunk into the result, where the phase sends it from.
- An iteration is over when its last result is whole, and all messages are acknowledged.
"""

from __future__ import annotations

from workloads.collectives.phased import PhasedCollective
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ELEMENT_BYTES, WorkerConfig
from workloads.gradients import Vector
from workloads.transports.endpoint import Verbs

__all__ = ["StagedCollective"]


class StagedCollective(PhasedCollective):
    """Raises ScenarioError as PhasedCollective does."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> None:
        super().__init__(worker, endpoint, elements, iterations)
        self._computed_at: int | None = None
        """when the current stage may begin; None: it has"""
        self._input: Vector = self._partial

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        self._input = gradient
        super().start(iteration, gradient, result, now)

    def get_timer(self) -> int | None:
        first, computed = super().get_timer(), self._computed_at
        return computed if first is None or (computed is not None and computed < first) else first

    def handle_timer(self, now: int) -> None:
        if self._computed_at is not None and self._computed_at <= now:
            self._computed_at = None
            self._begin_current(now)
        super().handle_timer(now)

    def _begin_next(self, now: int) -> None:
        self._current += 1
        takes = self._configs[self._steps[self._current][0]].compute_ns
        if takes:
            self._computed_at = now + takes
        else:
            self._begin_current(now)

    def _begin_current(self, now: int) -> None:
        config = self._configs[self._steps[self._current][0]]
        if config.collective.kind == "all_gather":
            seat = config.collective
            start, stop = chunk_bounds(config.elements, seat.size)[(seat.rank + 1) % seat.size]
            own = slice(config.first_element + start // ELEMENT_BYTES, config.first_element + stop // ELEMENT_BYTES)
            self._output[own] = self._input[own]
        super()._begin_current(now)

    def _is_over(self) -> bool:
        return self._computed_at is None and super()._is_over()

    def _buffers(self) -> tuple[Vector, Vector]:
        return self._input, self._output
