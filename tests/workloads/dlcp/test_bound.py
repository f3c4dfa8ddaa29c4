"""How many packets must come."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.dlcp.bound import packets_needed


@pytest.mark.parametrize(
    ("packets", "bound", "needed"),
    [(100, 0.0, 100), (100, 0.01, 99), (100, 0.02, 98), (100, 0.05, 95), (1, 0.9, 1), (99, 0.01, 99), (101, 0.01, 100)],
)
def test_ceil_of_what_is_kept(packets: int, bound: float, needed: int) -> None:
    assert packets_needed(packets, bound) == needed


def test_the_bound_is_the_number_that_was_written() -> None:
    """As binary floats, (1 - 0.07) * 100 is 92.99999999999999, and (1 - 0.43) * 100 is 57.00000000000001."""
    for percent in range(100):
        assert packets_needed(100, percent / 100) == 100 - percent


@given(st.integers(1, 10**6), st.integers(0, 999))
def test_no_packet_fewer_would_do(packets: int, permille: int) -> None:
    needed = packets_needed(packets, permille / 1000)
    kept = (1 - Fraction(permille, 1000)) * packets
    assert needed - 1 < kept <= needed
