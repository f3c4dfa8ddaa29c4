"""Delta debugging: a part from which nothing can be left out."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from testbed.explain.smallest import smallest_part


@given(st.integers(1, 40), st.sets(st.integers(0, 39), max_size=5))
def test_exactly_what_is_needed_remains(size: int, wanted: set[int]) -> None:
    needed = {number % size for number in wanted}
    part, _, minimal = smallest_part(range(size), lambda some: needed <= set(some), 10_000)
    assert set(part) == needed
    assert minimal


@given(st.integers(2, 24), st.integers(1, 12))
def test_nothing_can_be_left_out_of_what_remains(size: int, many: int) -> None:
    least = min(many, size)

    def holds(some: Sequence[int]) -> bool:
        return len(some) >= least

    part, _, minimal = smallest_part(range(size), holds, 10_000)
    assert minimal
    assert len(part) == least


def test_the_limit_of_tries_is_told() -> None:
    part, tries, minimal = smallest_part(range(64), lambda some: {0, 63} <= set(some), 3)
    assert tries == 3
    assert not minimal
    assert {0, 63} <= set(part)
