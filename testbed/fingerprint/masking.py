"""The order of additions, by masking: the method of FPRev (arXiv:2411.00442).

A large number at rank i and its negative at rank j hide every unit that is added before the two meet. So the sum counts
the ranks outside the smallest part of the tree that holds both, for each pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from testbed.fingerprint.reducer import Array, Counted, Unusable
from testbed.fingerprint.trees import NoTree, Orders, tree_of_sizes

__all__ = ["EXACT", "measure_orders", "measure_saturating", "orders_of_sizes"]

EXACT = "nothing is hidden"
"""in place of orders: every unit is counted, for every pair"""
_INTEGER_UNIT = 1 << 12
_LARGEST = (1 << 31) - 1
_MOST_TREES = 1024


def measure_orders(reducer: Counted, large: float, unit: float) -> Orders | str:
    """Orders, EXACT, or the reason why there are none."""
    ranks, elements = reducer.ranks, reducer.elements
    pairs = list(combinations(range(ranks), 2))
    if ranks == 2:
        return Orders.of((0, 1), elements)

    found = _counted(reducer, pairs, np.ones((len(pairs), ranks), bool), (large, unit))
    if (found == ranks - 2).all():
        return EXACT
    whole = (found >= 0) & (found <= ranks - 2) & (found == np.rint(found))
    if not whole.all():
        # Where numbers are not rounded to nearest, hidden units leave traces: one unit at a time.
        found = np.zeros((len(pairs), elements))
        for rank in range(ranks):
            others = [number for number, pair in enumerate(pairs) if rank not in pair]
            alone = np.broadcast_to(np.arange(ranks) == rank, (len(others), ranks))
            found[others] += _counted(reducer, [pairs[number] for number in others], alone, (large, unit)) == 1
    return orders_of_sizes(ranks, ranks - found.astype(np.int64))


def _counted(reducer: Counted, pairs: Sequence[tuple[int, int]], units: Array, values: tuple[float, float]) -> Array:
    """Units that sums show, for each pair. `units`: which ranks have one, for each pair; `values`: the large number and
    the unit."""
    large, unit = values
    vectors = np.where(units, unit, 0).astype(np.float32)
    for vector, (i, j) in zip(vectors, pairs, strict=True):
        vector[i], vector[j] = large, -large
    shown: Array = reducer.reduce(everywhere(vectors, reducer.elements)) / np.float32(unit)
    return shown


def everywhere(vectors: Array, elements: int) -> Array:
    """Gradients with the same vector at all places. `vectors`: shape (runs, ranks)."""
    return np.broadcast_to(vectors[:, :, np.newaxis], (*vectors.shape, elements))


def orders_of_sizes(ranks: int, sizes: Array) -> Orders | str:
    """`sizes`: shape (pairs, elements), number of ranks below the addition where a pair meets."""
    kinds, which = np.unique(sizes, axis=1, return_inverse=True)
    if kinds.shape[1] > _MOST_TREES:
        return f"more than {_MOST_TREES} orders in one gradient"
    pairs = tuple(np.array(list(combinations(range(ranks), 2))).T)
    trees = []
    for kind in kinds.T:
        matrix = np.zeros((ranks, ranks), np.int64)
        matrix[pairs] = kind
        matrix += matrix.T
        try:
            trees.append(tree_of_sizes(matrix))
        except NoTree:
            return "no order of additions explains which numbers hide which"
    return Orders(tuple(trees), which.reshape(-1))


def measure_saturating(reducer: Counted, make: Callable[[Array], Array], read: Callable[[Array], Array]) -> Array:
    """As `measure_orders`, of integers of 32 bits that may saturate: two largest ones hide what is subtracted before
    they meet. `make`: the values that travel as such integers; `read`: integers of sums. Shape (pairs, elements)."""
    ranks, pairs = reducer.ranks, list(combinations(range(reducer.ranks), 2))
    vectors = np.full((len(pairs), ranks), -_INTEGER_UNIT, np.int64)
    for vector, pair in zip(vectors, pairs, strict=True):
        vector[list(pair)] = _LARGEST
    total = read(reducer.reduce(everywhere(make(vectors), reducer.elements)))
    counted = np.rint((_LARGEST - total) / _INTEGER_UNIT).astype(np.int64)
    if counted.min() < 0 or counted.max() > ranks - 2:
        raise Unusable("integers do not saturate as a whole")
    return ranks - counted
