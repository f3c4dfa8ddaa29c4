"""Gradients that are drawn before the traffic starts: to draw them takes the processor from peers that still
receive."""

from __future__ import annotations

from workloads.events import TrainingProgress
from workloads.gradients.base import GradientSource, Vector

__all__ = ["DrawnAhead"]


class DrawnAhead:
    """As `source`, whose gradients do not depend on what is applied; those of iterations 1 to `count` are in memory,
    and cost nothing. The first is drawn before the traffic in any case."""

    def __init__(self, source: GradientSource, count: int) -> None:
        self._source = source
        self.elements, self.dtype = source.elements, source.dtype
        self._drawn = {number: source.gradient(number).copy() for number in range(1, count + 1)}

    @property
    def iterations(self) -> int:
        return self._source.iterations

    def gradient(self, iteration: int) -> Vector:
        drawn = self._drawn.get(iteration)
        return self._source.gradient(iteration) if drawn is None else drawn

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        return self._source.apply(iteration, total)

    def reset(self) -> None:
        self._source.reset()
