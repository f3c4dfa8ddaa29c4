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


def quantised_sum(gradients: Sequence[NDArray[Any]], half: int) -> NDArray[Any]:
    """Of arrays of one shape, (n,), float32 or int32 (which wrap). `half`: elements that share an exponent."""
    if gradients[0].dtype.kind != "f":
        exact: NDArray[np.int64] = np.sum([gradient.astype(np.int64) for gradient in gradients], axis=0)
        return exact.astype(np.uint32).view(np.int32)
    result = np.empty(len(gradients[0]), np.float32)
    for start in range(0, len(result), half):
        rows = np.stack([gradient[start : start + half] for gradient in gradients]).astype(np.float64)
        largest = float(np.abs(rows).max())
        # frexp: largest = m * 2^e with 0.5 <= m < 1, so that largest < 2^e
        exponent = max(_LOWEST, int(np.frexp(largest)[1])) if largest else _LOWEST
        scale = (2**31 - 1) / len(gradients) / 2.0**exponent
        shares = np.rint(rows * scale).astype(np.int64)
        with np.errstate(over="ignore"):
            result[start : start + half] = (shares.sum(axis=0) / scale).astype(np.float32)
    return result


def scaled_sum(gradients: Sequence[NDArray[Any]], scale: float) -> NDArray[Any]:
    """Of float32 arrays of one shape, (n,): each value times `scale`, round-half-even, as an integer; their sum over
    `scale`. A sum that no int32 holds is no result, and the job that has one does not end well."""
    shares = [np.rint(gradient.astype(np.float64) * scale).astype(np.int64) for gradient in gradients]
    total: NDArray[np.int64] = np.sum(shares, axis=0)
    return (total / scale).astype(np.float32)
