"""A part of a rank's gradient among zeros: what the rank gives to a sum that stands for another operation."""

from __future__ import annotations

import numpy as np

from workloads.events import TrainingProgress
from workloads.gradients.base import GradientSource, Vector

__all__ = ["GivenPart"]


class GivenPart:
    """As `source`, whose gradients have zeros outside elements `first` .. `first + number - 1`."""

    def __init__(self, source: GradientSource, first: int, number: int) -> None:
        self._source, self._given = source, slice(first, first + number)
        self.elements, self.dtype = source.elements, source.dtype
        self._room: Vector = np.empty(source.elements, source.dtype)
        self._room.fill(0)

    @property
    def iterations(self) -> int:
        return self._source.iterations

    def gradient(self, iteration: int) -> Vector:
        self._room[self._given] = self._source.gradient(iteration)[self._given]
        return self._room

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        return self._source.apply(iteration, total)

    def reset(self) -> None:
        self._source.reset()
