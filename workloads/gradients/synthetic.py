"""Synthetic gradients: drawn from (seed, rank, iteration) alone, so that order and rounding of a sum show in its
bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.config import WorkloadConfig
from workloads.events import TrainingProgress
from workloads.gradients.base import Vector
from workloads.gradients.drawing import draw_floats, draw_integers

__all__ = ["SyntheticSource"]

_MASK64 = (1 << 64) - 1


class SyntheticSource:
    """For int32, all 2^32 values are equally likely, so sums wrap. For float32, signs and fractions are random, and
    exponents spread over 32 powers of two. One value in 128 is a negative zero, one in 128 is subnormal. None is NaN or
    infinite."""

    def __init__(self, config: WorkloadConfig, rank: int, dtype: np.dtype[Any]) -> None:
        self.elements, self.iterations, self.dtype = config.elements, config.iterations, dtype
        self._seed, self._rank = config.seed, rank
        self._own: Vector | None = None

    def gradient(self, iteration: int) -> Vector:
        if self._own is None:
            self._own = np.empty(self.elements, self.dtype)
        self.draw(iteration, 0, self._own)
        return self._own

    def draw(self, iteration: int, first: int, into: Vector) -> None:
        draw = draw_floats if self.dtype.kind == "f" else draw_integers
        draw(into.view(np.uint32), first, self._seed & _MASK64, self._rank << 32 | iteration)

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        return None

    def reset(self) -> None:
        """Nothing to forget: every gradient follows from its iteration."""
