"""Reducers with a planted arithmetic each, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.fingerprint.reducer import ReducerRefused

Array = NDArray[Any]
TINY = np.float32(2.0**-126)
LOW, HIGH = -(1 << 31), (1 << 31) - 1


@dataclass
class Planted:
    """A Reducer around a function of one gradient."""

    function: Callable[[Array], Array]
    ranks: int = 4
    elements: int = 20_000
    dtype: str = "float32"
    provocations: int = 2
    calls: int = field(default=0)

    def reduce(self, gradients: Array, provocation: int = 0) -> Array:
        self.calls += 1
        with np.errstate(all="ignore"):
            found = np.stack([self.function(gradient) for gradient in gradients])
        return found.astype(gradients.dtype, copy=False)


def in_order(order: Sequence[int]) -> Callable[[Array], Array]:
    def add(rows: Array) -> Array:
        total = rows[order[0]].copy()
        for rank in order[1:]:
            total = total + rows[rank]
        return total

    return add


def pairwise(rows: Array) -> Array:
    level = list(rows)
    while len(level) > 1:
        level = [level[i] + level[i + 1] if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return level[0]


def far_pairs(rows: Array) -> Array:
    while len(rows) > 1:
        half = len(rows) // 2
        rows = rows[:half] + rows[half:]
    return rows[0]


def ring(rows: Array) -> Array:
    chunks = [np.array_split(row, len(rows)) for row in rows]
    parts = []
    for first in range(len(rows)):
        total = chunks[first][first]
        for step in range(1, len(rows)):
            total = total + chunks[(first + step) % len(rows)][first]
        parts.append(total)
    return np.concatenate(parts)


def by_arrival() -> Callable[[Array], Array]:
    rng = np.random.default_rng(3)

    def add(rows: Array) -> Array:
        return in_order(rng.permutation(len(rows)).tolist())(rows)

    return add


def in_float64(rows: Array) -> Array:
    total = rows[0].astype(np.float64)
    for row in rows[1:]:
        total = total + row
    return total.astype(np.float32)


def to_bf16(values: Array) -> Array:
    """To nearest, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    quiet = (bits | np.uint32(0x00400000)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint32).view(np.float32)


def in_bf16(rows: Array) -> Array:
    return reduce(lambda total, row: to_bf16(total + to_bf16(row)), rows[1:], to_bf16(rows[0]))


def in_fp16(rows: Array) -> Array:
    halves = rows.astype(np.float16)
    return reduce(lambda total, row: (total + row).astype(np.float16), halves[1:], halves[0]).astype(np.float32)


def fixed(scale: float) -> Callable[[Array], Array]:
    def add(rows: Array) -> Array:
        numbers = np.clip(np.rint(np.nan_to_num(rows.astype(np.float64) * scale)), LOW, HIGH).astype(np.int64)
        return (np.clip(numbers.sum(axis=0), LOW, HIGH) / scale).astype(np.float32)

    return add


def block_exponents(block: int) -> Callable[[Array], Array]:
    def add(rows: Array) -> Array:
        if not np.isfinite(rows).all():
            raise ReducerRefused("not finite")
        parts = []
        for start in range(0, rows.shape[1], block):
            part = rows[:, start : start + block].astype(np.float64)
            exponent = max(-126, int(np.frexp(np.abs(part).max())[1]))
            scale = np.ldexp((2**31 - 1) / len(rows), -exponent)
            parts.append(np.rint(part * scale).astype(np.int64).sum(axis=0) / scale)
        return np.concatenate(parts).astype(np.float32)

    return add


def kahan(rows: Array) -> Array:
    total, lost = rows[0].copy(), np.zeros_like(rows[0])
    for row in rows[1:]:
        plus = row - lost
        after = total + plus
        lost = (after - total) - plus
        total = after
    return total


def neumaier(rows: Array) -> Array:
    total, lost = rows[0].copy(), np.zeros_like(rows[0])
    for row in rows[1:]:
        after = total + row
        lost = lost + np.where(np.abs(total) >= np.abs(row), (total - after) + row, (row - after) + total)
        total = after
    return total + lost


def truncating(rows: Array) -> Array:
    def add(a: Array, b: Array) -> Array:
        near = (a.astype(np.float64) + b).astype(np.float32)
        larger, smaller = np.where(np.abs(a) >= np.abs(b), a, b), np.where(np.abs(a) >= np.abs(b), b, a)
        error = (larger.astype(np.float64) - near) + smaller
        overflowed = np.isinf(near) & np.isfinite(a) & np.isfinite(b)
        toward = overflowed | (error * np.sign(near) < 0)
        return np.where(toward, np.nextafter(near, np.float32(0)), near).astype(np.float32)

    return reduce(add, rows[1:], rows[0])


def flushed(values: Array) -> Array:
    return np.where(np.abs(values) < TINY, np.copysign(np.float32(0), values), values).astype(np.float32)


def flushes_inputs(rows: Array) -> Array:
    return in_order(range(len(rows)))(flushed(rows))


def flushes_results(rows: Array) -> Array:
    return reduce(lambda total, row: flushed(total + row), rows[1:], rows[0])


def exact(rows: Array) -> Array:
    """Rounded once: as integers of any size where float64 is too short."""
    finite = np.isfinite(rows).all(axis=0)
    first, *others = np.where(finite | ~np.isfinite(rows), rows, 0).astype(np.float64)
    total, inexact = first, np.zeros(len(first), bool)
    for row in others:
        after = total + row
        part = after - total
        inexact |= (total - (after - part)) + (row - part) != 0
        total = after
    found = total.astype(np.float32)
    there = np.flatnonzero(inexact & finite)
    columns, which = np.unique(rows[:, there].astype(np.float64), axis=1, return_inverse=True)
    found[there] = np.array([_nearest(column) for column in columns.T], np.float32)[which.reshape(-1)]
    return found


def _nearest(column: Array) -> float:
    least = -149
    number = sum(int(math.ldexp(x, 149)) for x in column.tolist())
    size, drop = abs(number), max(0, abs(number).bit_length() - 24)
    low, half = size & ((1 << drop) - 1), (1 << drop) >> 1
    kept = size >> drop
    if drop and (low > half or (low == half and kept & 1)):
        kept += 1
    exponent = drop + least
    if kept.bit_length() + exponent > 128:
        return float("inf") if number > 0 else float("-inf")
    return float(np.ldexp(float(kept), exponent)) * (-1 if number < 0 else 1)


def canonical_nans(rows: Array) -> Array:
    total = in_order(range(len(rows)))(rows)
    total.view(np.uint32)[np.isnan(total)] = 0x7FC00000
    return total


def wrapping(rows: Array) -> Array:
    return rows.astype(np.int64).sum(axis=0).astype(np.uint32).view(np.int32)


def clamped_once(rows: Array) -> Array:
    return np.clip(rows.astype(np.int64).sum(axis=0), LOW, HIGH).astype(np.int32)


def clamped_each(rows: Array) -> Array:
    total = rows[0].astype(np.int64)
    for row in rows[1:]:
        total = np.clip(total + row, LOW, HIGH)
    return total.astype(np.int32)
