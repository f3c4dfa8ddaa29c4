from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.wire import PSN_MASK, PSN_MODULUS, psn_add, psn_diff

psns = st.integers(0, PSN_MASK)
HALF = 1 << 23


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        (0, 0, 0), (1, 0, 1), (0, 1, -1),
        (0, 0xFFFFFF, 1), (0xFFFFFF, 0, -1), (3, 0xFFFFFC, 7), (0xFFFFFC, 3, -7),
        (HALF - 1, 0, HALF - 1), (0, HALF - 1, -(HALF - 1)), (HALF, 0, -HALF), (0, HALF, -HALF),
        (HALF - 1 - 4, 0xFFFFFC, HALF - 1), (HALF - 4, 0xFFFFFC, -HALF),
    ],
)  # fmt: skip
def test_distance(a: int, b: int, distance: int) -> None:
    assert psn_diff(a, b) == distance


@given(psns, st.integers(-(HALF - 1), HALF - 1))
def test_add_and_diff_are_inverse_within_half_the_space(psn: int, count: int) -> None:
    moved = psn_add(psn, count)
    assert 0 <= moved < PSN_MODULUS
    assert psn_diff(moved, psn) == count
    assert psn_diff(psn, moved) == -count


@given(psns, st.integers())
def test_add_wraps(psn: int, count: int) -> None:
    assert psn_add(psn, count) == (psn + count) % PSN_MODULUS
