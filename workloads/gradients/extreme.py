"""Gradients of values at the ends of their type, among ordinary ones: what a sum does there, random words hardly
show."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.config import WorkloadConfig
from workloads.events import TrainingProgress
from workloads.gradients.base import Vector
from workloads.gradients.synthetic import SyntheticSource

__all__ = ["ExtremeSource"]

_BLOCK = 4
"""words for each step of Philox's counter"""
_MASK64 = (1 << 64) - 1
_PLACES = 1 << 63
"""marker of the random stream of places, which all ranks share; other streams belong to one rank"""
_SHARES = (4, 16, 64, 256)
"""choices of n, where one value in n is at an end of the type"""
_SMALL = np.int32(12)
"""bits that ordinary integers are shifted down by: a few of them never leave int32 by themselves"""
_INTEGERS = np.array([0x7FFFFFFF, 0x80000000, 0x7FFFFFFF, 0x80000000, 0x7FFF0000, 0x80010000, 0, 0xFFFFFFFF], np.uint32)
_FINITE = np.array(
    [0x7EFFFFFF, 0xFEFFFFFF, 0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x80800000], np.uint32
)
"""largest below 2^127 (more does not travel as an integer), both zeros, smallest and largest subnormal, smallest
normal"""
_SPECIAL = np.array(
    [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF], np.uint32
)
"""both infinities, NaNs: quiet, signalling, of either sign, with a payload; the largest finite values"""


class ExtremeSource:
    """As `SyntheticSource`, but some values are at the ends of the type. They are in the same places on all ranks, so
    they meet in a sum. The seed decides how many. For int32, the others are below 2^20 in size. For float32, all are
    finite and below 2^127. With `special` there are also infinities, NaNs of all kinds and the largest values."""

    def __init__(self, config: WorkloadConfig, rank: int, dtype: np.dtype[Any], *, special: bool = False) -> None:
        self.elements, self.iterations, self.dtype = config.elements, config.iterations, dtype
        self._seed, self._rank = config.seed, rank
        self._ordinary = SyntheticSource(config, rank, dtype)
        floats = np.concatenate([_FINITE, _SPECIAL]) if special else _FINITE
        self._ends = floats if dtype.kind == "f" else _INTEGERS
        self._share = np.uint64(_SHARES[config.seed % len(_SHARES)])

        self._own: Vector | None = None

    def gradient(self, iteration: int) -> Vector:
        if self._own is None:
            self._own = np.empty(self.elements, self.dtype)
        self.draw(iteration, 0, self._own)
        return self._own

    def draw(self, iteration: int, first: int, into: Vector) -> None:
        self._ordinary.draw(iteration, first, into)
        if self.dtype.kind == "i":
            into >>= _SMALL
        there = self._words(_PLACES | iteration, first, len(into)) % self._share == 0
        stream = 1 << 62 | self._rank << 32 | iteration
        chosen = self._words(stream, first, len(into))[there] % np.uint64(len(self._ends))
        into.view(np.uint32)[there] = self._ends[chosen]

    def _words(self, stream: int, first: int, count: int) -> NDArray[np.uint64]:
        """One for each element from `first` on."""
        draw = np.random.Philox(key=np.array([self._seed & _MASK64, stream], np.uint64))
        draw.advance(first // _BLOCK)
        passed = first % _BLOCK
        return draw.random_raw(passed + count)[passed:]

    def apply(self, iteration: int, total: Vector) -> TrainingProgress | None:
        return None

    def reset(self) -> None:
        """Nothing to forget: every gradient follows from its iteration."""
