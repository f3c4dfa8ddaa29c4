"""What a fingerprint asks of its target: sums of gradients that it chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Counted", "Reducer", "ReducerRefused", "Unusable", "same_bits"]

Array = NDArray[Any]
_MOST_BYTES = 1 << 27
"""of gradients in one call"""


class ReducerRefused(Exception):
    """The target gives no sum of these values. The text says what it said."""


class Unusable(Exception):
    """The target gives sums from which nothing can be found out, such as other sums at other ranks."""


class Reducer(Protocol):
    """A target. All gradients have the same number of elements, because the order may depend on the place."""

    ranks: int
    elements: int
    dtype: str
    """float32 or int32"""
    provocations: int
    """number of ways to provoke another order of arrival; the same inputs are summed once in each"""

    def reduce(self, gradients: Array, provocation: int = 0) -> Array:
        """`gradients`: shape (runs, ranks, elements). The sums: shape (runs, elements). Raises Refused and
        Unusable."""
        ...


class Counted:
    """A Reducer in calls of bounded size; counts the gradients."""

    def __init__(self, reducer: Reducer, tell: Callable[[int], None] = lambda runs: None) -> None:
        self.ranks, self.elements, self.dtype = reducer.ranks, reducer.elements, reducer.dtype
        self.provocations = reducer.provocations
        self.runs = 0
        self._reducer, self._tell = reducer, tell

    def reduce(self, gradients: Array, provocation: int = 0) -> Array:
        """As Reducer.reduce. Raises Unusable for results of another shape."""
        at_once = max(1, _MOST_BYTES // gradients[0].nbytes)
        parts = []
        for first in range(0, len(gradients), at_once):
            given = gradients[first : first + at_once]
            found = self._reducer.reduce(given, provocation)
            if found.shape != (len(given), self.elements) or found.dtype != given.dtype:
                raise Unusable(f"sums of shape {found.shape} and type {found.dtype}")
            parts.append(found)
            self.runs += len(given)
            self._tell(self.runs)
        return np.concatenate(parts)

    def one(self, gradient: Array, provocation: int = 0) -> Array:
        """The sum of one gradient, shape (ranks, elements)."""
        total: Array = self.reduce(gradient[np.newaxis], provocation)[0]
        return total


def same_bits(a: Array, b: Array) -> Array:
    """Element by element; of 4-byte types."""
    equal: Array = a.view(np.uint32) == b.view(np.uint32)
    return equal
