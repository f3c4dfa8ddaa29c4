"""The order of additions, by masking: the method of FPRev (arXiv:2411.00442).

A large number at rank i and its negative at rank j hide every unit that is added before the two meet. So the sum counts
the ranks outside the smallest part of the tree that holds both, for each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from testbed.fingerprint.reducer import Array, Counted, Unusable
from testbed.fingerprint.trees import NoTree, Orders, tree_of_sizes

__all__ = ["EXACT", "INTEGER_UNIT", "measure_orders", "measure_saturating", "orders_of_sizes"]

EXACT = "nothing is hidden"
"""in place of orders: every unit is counted, for every pair"""
INTEGER_UNIT = 1 << 12
_LARGEST = (1 << 31) - 1
_MOST_TREES = 1024


def measure_orders(reducer: Counted, large: float, unit: float, provocation: int = 0) -> Orders | str:
    """Orders, EXACT, or the reason why there are none."""
    ranks, elements = reducer.ranks, reducer.elements
    pairs = list(combinations(range(ranks), 2))
    if ranks == 2:
        return Orders.of((0, 1), elements)

    def count(i: int, j: int, units: Array) -> Array:
        vector = np.where(units, unit, 0).astype(np.float32)
        vector[i], vector[j] = large, -large
        return reducer.one(np.repeat(vector[:, np.newaxis], elements, axis=1), provocation) / np.float32(unit)

    everywhere = np.ones(ranks, bool)
    found = np.stack([count(i, j, everywhere) for i, j in pairs])
    if (found == ranks - 2).all():
        return EXACT
    whole = (found >= 0) & (found <= ranks - 2) & (found == np.rint(found))
    if not whole.all():
        found = np.stack([_one_by_one(count, pair, ranks, elements) for pair in pairs])
    return orders_of_sizes(ranks, ranks - found.astype(np.int64))


def _one_by_one(count: Callable[[int, int, Array], Array], pair: tuple[int, int], ranks: int, elements: int) -> Array:
    """Units one at a time: where a number is not rounded to nearest, the hidden ones leave traces."""
    outside = np.zeros(elements)
    for rank in set(range(ranks)) - set(pair):
        outside += count(*pair, np.arange(ranks) == rank) == 1
    return outside


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
    ranks, rows = reducer.ranks, []
    for i, j in combinations(range(ranks), 2):
        vector = np.full(ranks, -INTEGER_UNIT, np.int64)
        vector[i] = vector[j] = _LARGEST
        total = read(reducer.one(make(np.repeat(vector[:, np.newaxis], reducer.elements, axis=1))))
        counted = np.rint((_LARGEST - total) / INTEGER_UNIT).astype(np.int64)
        if counted.min() < 0 or counted.max() > ranks - 2:
            raise Unusable("integers do not saturate as a whole")
        rows.append(ranks - counted)
    return np.stack(rows)
