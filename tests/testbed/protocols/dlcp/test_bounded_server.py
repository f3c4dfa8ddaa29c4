"""How far a sum may be from the whole one."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.checkers.folds import fold
from testbed.protocols.dlcp.bounded_server import left_out
from testbed.protocols.dlcp.bounded_told import rounding, without
from workloads.config import ArithmeticSpec


@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
def test_no_result_is_further_than_its_bound(dtype: str) -> None:
    """Of random gradients of which random packets came."""
    draw, spec = np.random.default_rng(7), ArithmeticSpec("sum", dtype)
    kind = np.float32 if dtype == "float32" else np.int32
    for _ in range(50):
        rows = [(draw.standard_normal(40) * 1e6).astype(kind) for _ in range(4)]
        came = [without(row, int(draw.integers(1 << 10)), 4) for row in rows]
        total = fold(came, spec)
        result = without(total, int(draw.integers(1 << 10)), 4)
        bound = left_out(rows, came) + left_out([total], [result]) + rounding(rows)
        distance = np.abs(result.astype(np.float64) - np.sum(np.array(rows, np.float64), axis=0))
        assert (distance <= bound).all()


def test_a_sum_that_is_scaled_by_what_came_is_too_far() -> None:
    """Receivers scale nothing: the bound is there to see it."""
    rows = [np.full(8, 10.0, np.float32), np.full(8, -2.0, np.float32), np.full(8, 1.0, np.float32)]
    came = [rows[0], rows[1], without(rows[2], 0b01, 4)]
    total = fold(came, ArithmeticSpec())
    bound = left_out(rows, came) + rounding(rows)
    assert (np.abs(total - 9.0) <= bound).all()
    assert (np.abs(total * np.float32(3 / 2) - 9.0) > bound).all()
