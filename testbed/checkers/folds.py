"""Reductions of whole gradients, in every order that a protocol has.

Arithmetic (protocol text section 7): float32 is a left fold in the order given, rounded to binary32 at every step, and
a NaN becomes 0x7fc00000. int32 wraps. int32sat is the exact sum clamped once. Xor is bitwise. In a float32 max NaN wins
and +0 is above -0. A ring all-reduce folds chunk c of P in the order c, c+1, ..., c-1 (mod P), one rounding (or clamp)
per step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workloads.config import ArithmeticSpec

__all__ = ["Array", "fold", "masters_fold", "pairs_fold", "pieces_fold", "ring_fold", "tree_fold"]

Array: TypeAlias = NDArray[Any]
_CANONICAL_NAN = np.uint32(0x7FC00000)
_INT32 = np.iinfo(np.int32)


def fold(gradients: Sequence[Array], arithmetic: ArithmeticSpec) -> Array:
    """Reduce arrays of one shape, (n,) float32 or int32, in the order given. Raises ValueError for what is not
    defined."""
    if arithmetic.dtype == "int32sat" and arithmetic.op == "sum":
        total = np.zeros(len(gradients[0]), np.int64)
        for gradient in gradients:
            total += gradient
        return np.clip(total, _INT32.min, _INT32.max).astype(np.int32)
    total = np.array(gradients[0], dtype=np.float32 if arithmetic.dtype == "float32" else np.int32)
    with np.errstate(all="ignore"):
        for gradient in gradients[1:]:
            _combine(total, gradient, arithmetic.op)
    return total if arithmetic.op == "xor" else _canonical(total)


def ring_fold(gradients: Sequence[Array], arithmetic: ArithmeticSpec, first: int = 0) -> Array:
    """As a ring all-reduce over len(gradients) ranks does it, chunks as `numpy.array_split` cuts them. Chunk c
    starts at rank c + `first`."""
    size, total = len(gradients), np.empty_like(gradients[0])
    least, more = divmod(total.size, size)
    clamps = (arithmetic.op, arithmetic.dtype) == ("sum", "int32sat")
    stop = 0
    for chunk in range(size):
        start, stop = stop, stop + least + (chunk < more)
        begin = (chunk + first) % size
        parts = [gradient[start:stop] for gradient in (*gradients[begin:], *gradients[:begin])]
        if clamps:
            total[start:stop] = reduce(lambda so_far, part: fold([so_far, part], arithmetic), parts)
        else:
            total[start:stop] = fold(parts, arithmetic)
    return total


def masters_fold(groups: Sequence[Sequence[int]], gradients: Sequence[Array], arithmetic: ArithmeticSpec) -> Array:
    """`groups`: the ranks of each machine. The whole gradient from the last worker of a machine to its first, and the
    machines' partial sums as a ring."""
    return ring_fold([fold([gradients[rank] for rank in reversed(group)], arithmetic) for group in groups], arithmetic)


def pairs_fold(gradients: Sequence[Array], arithmetic: ArithmeticSpec, *, far_first: bool = False) -> Array:
    """Neighbours are added until one is left, or, far partners first, each of one half with its own of the other. Where
    the ranks are no power of two, the first of them are added in pairs before, as many as there are ranks above it."""
    extra = len(gradients) - (1 << len(gradients).bit_length() - 1)
    level = [fold(gradients[2 * i : 2 * i + 2], arithmetic) for i in range(extra)] + list(gradients[2 * extra :])
    while len(level) > 1:
        half = len(level) // 2
        both = zip(level, level[half:], strict=False) if far_first else zip(level[::2], level[1::2], strict=True)
        level = [fold(pair, arithmetic) for pair in both]
    return level[0]


def tree_fold(gradients: Sequence[Array], arithmetic: ArithmeticSpec, root: int = 0) -> Array:
    """Neighbours, counted from `root`, are added until one is left; a last one without a neighbour goes on as it is."""
    level = [*gradients[root:], *gradients[:root]]
    while len(level) > 1:
        level = [fold(level[i : i + 2], arithmetic) for i in range(0, len(level), 2)]
    return level[0]


def pieces_fold(groups: Sequence[Sequence[int]], gradients: Sequence[Array], arithmetic: ArithmeticSpec) -> Array:
    """`groups`: the ranks of each machine. Piece c of n in the order c, c+1, ..., c-1 (mod n) of each machine's
    workers, then the machines' partial sums in the order of the machines."""
    pieces = []
    workers = len(groups[0])
    cut = [np.array_split(gradient, workers) for gradient in gradients]
    for piece in range(workers):
        partial = [
            fold([cut[group[(piece + step) % workers]][piece] for step in range(workers)], arithmetic)
            for group in groups
        ]
        pieces.append(fold(partial, arithmetic))
    return np.concatenate(pieces)


def _combine(total: Array, gradient: Array, op: str) -> None:
    if op == "sum":
        np.add(total, gradient, out=total)
    elif op == "max" and total.dtype == np.float32:
        _maximum(total, gradient)
    elif op == "max":
        np.maximum(total, gradient, out=total)
    elif op == "xor":
        words = total.view(np.uint32)
        np.bitwise_xor(words, np.ascontiguousarray(gradient).view(np.uint32), out=words)
    else:
        raise ValueError(f"no arithmetic for op {op!r}")


def _maximum(total: Array, gradient: Array) -> None:
    """IEEE 754-2019 maximum: equal values have equal bits but for zeros, where AND leaves the sign only if both have
    it."""
    other = np.array(gradient, np.float32)
    equal = total == other
    total.view(np.uint32)[equal] &= other.view(np.uint32)[equal]
    np.copyto(total, other, where=(other > total) | np.isnan(other))


def _canonical(total: Array) -> Array:
    if total.dtype == np.float32:
        total.view(np.uint32)[np.isnan(total)] = _CANONICAL_NAN
    return total
