"""Synthetic gradients: drawn from (seed, rank, iteration) alone, so that order and rounding of a sum show in its
bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.config import WorkloadConfig
from workloads.events import TrainingProgress
from workloads.gradients.base import Vector

__all__ = ["SyntheticSource"]

_CHUNK = 1 << 15  # words drawn at once: few compared with a gradient; even, since Philox gives word pairs
_MASK64 = (1 << 64) - 1
_SIGN, _FRACTION = np.uint32(0x8000_0000), np.uint32(0x007F_FFFF)
_LOWEST_EXPONENT, _EXPONENT_SPAN = np.uint32(127 - 20), np.uint32(0x1F)  # magnitudes 2^-20 .. 2^12


class SyntheticSource:
    """For int32, all 2^32 values are equally likely, so sums wrap. For float32, signs and fractions are random, and
    exponents spread over 32 powers of two. One value in 128 is a negative zero, one in 128 is subnormal. None is NaN or
    infinite."""

    def __init__(self, config: WorkloadConfig, rank: int, dtype: np.dtype[Any]) -> None:
        self.elements, self.iterations, self.dtype = config.elements, config.iterations, dtype
        self._seed, self._rank = config.seed, rank
        self._words = np.empty(config.elements, np.uint32)

    def gradient(self, iteration: int) -> Vector:
        key = np.array([self._seed & _MASK64, self._rank << 32 | iteration], np.uint64)
        draw = np.random.Philox(key=key)
        for start in range(0, self.elements, _CHUNK):
            part = self._words[start : start + _CHUNK]
            part[:] = draw.random_raw((len(part) + 1) // 2).view(np.uint32)[: len(part)]
            if self.dtype.kind == "f":
                _shape_floats(part)
        return self._words.view(self.dtype)

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        return None

    def reset(self) -> None:
        """Nothing to forget: every gradient follows from its iteration."""


def _shape_floats(words: np.ndarray[Any, np.dtype[np.uint32]]) -> None:
    """Turn random words into float32 bits in place; the exponent byte decides what kind of value it becomes."""
    kind = words >> np.uint32(23) & np.uint32(0xFF)
    exponent = (kind & _EXPONENT_SPAN) + _LOWEST_EXPONENT
    exponent[kind < 2] = 0  # subnormal
    words &= _SIGN | _FRACTION
    words |= exponent << np.uint32(23)
    words[(kind == 2) | (kind == 3)] = _SIGN
