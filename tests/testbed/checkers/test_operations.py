"""The references of operations, on vectors that a reader can follow."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.checkers.operations import held_by_ranks

VECTORS = [np.array([10 * rank + place for place in range(5)], np.int32) for rank in range(3)]
TOTAL = np.array([30, 33, 36, 39, 42], np.int32)


@pytest.mark.parametrize(
    ("operation", "held"),
    [
        ("all_reduce", [[30, 33, 36, 39, 42]] * 3),
        ("reduce_scatter", [[30, 33], [36, 39], [42]]),
        ("all_gather", [[0, 1, 12, 13, 24]] * 3),
        ("all_to_all", [[0, 1, 10, 11, 20, 21], [2, 3, 12, 13, 22, 23], [4, 14, 24]]),
        ("broadcast", [[10, 11, 12, 13, 14]] * 3),
        ("reduce", [[], [30, 33, 36, 39, 42], []]),
    ],
)
def test_what_each_rank_holds(operation: str, held: list[list[int]]) -> None:
    assert [part.tolist() for part in held_by_ranks(operation, 1, VECTORS, TOTAL)] == held
