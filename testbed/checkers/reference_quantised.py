"""The independent reference of sums of floats that travel as integers (docs/switchml.md, "Floats as integers"), without
worker code.

Per half block of all n gradients, E is the least exponent from -126 on with |x| < 2^E for all elements of all ranks.
Every rank's share is round-half-even(x * (2^31 - 1) / n / 2^E) as an integer. The result is their sum / that scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["quantised_sum", "scaled_sum"]

_LOWEST = -126
_AT_ONCE = 1 << 15
"""elements of a gradient"""


def quantised_sum(gradients: Sequence[NDArray[Any]], half: int) -> NDArray[Any]:
    """Of arrays of one shape, (n,), float32 or int32 (which wrap). `half`: elements that share an exponent."""
    if gradients[0].dtype.kind != "f":
        exact: NDArray[np.int64] = np.sum([gradient.astype(np.int64) for gradient in gradients], axis=0)
        return exact.astype(np.uint32).view(np.int32)
    ranks, result = len(gradients), np.empty(len(gradients[0]), np.float32)
    step = max(1, _AT_ONCE // half) * half
    for start in range(0, len(result), step):
        size = min(step, len(result) - start)
        rows = np.zeros((ranks, -(-size // half) * half))
        for row, gradient in zip(rows, gradients, strict=True):
            row[:size] = gradient[start : start + size]
        blocks = rows.reshape(ranks, -1, half)
        largest = np.abs(blocks).max(axis=(0, 2))
        # frexp: largest = m * 2^e with 0.5 <= m < 1, so that largest < 2^e
        exponents = np.where(largest != 0, np.maximum(_LOWEST, np.frexp(largest)[1]), _LOWEST)
        scales = ((2**31 - 1) / ranks / np.ldexp(1.0, exponents))[:, np.newaxis]
        shares = np.rint(blocks * scales).astype(np.int64)
        with np.errstate(over="ignore"):
            result[start : start + size] = (shares.sum(axis=0) / scales).astype(np.float32).reshape(-1)[:size]
    return result


def scaled_sum(gradients: Sequence[NDArray[Any]], scale: float) -> NDArray[Any]:
    """Of float32 arrays of one shape, (n,): each value times `scale`, round-half-even, as an integer; their sum over
    `scale`. A sum that no int32 holds is no result, and the job that has one does not end well."""
    shares = [np.rint(gradient.astype(np.float64) * scale).astype(np.int64) for gradient in gradients]
    total: NDArray[np.int64] = np.sum(shares, axis=0)
    return (total / scale).astype(np.float32)
