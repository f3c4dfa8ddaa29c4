"""How often each worker entered a sum."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workloads.datagrams.entries import enter
from workloads.datagrams.worker_sets import ranks_in


@given(st.lists(st.integers(0, 2**100 - 1), max_size=5))
def test_each_rank_of_a_bitmap_counts_once(bitmaps: list[int]) -> None:
    """Also where it is wider than a number of the machine."""
    entered = [0] * 100
    for bitmap in bitmaps:
        enter(entered, bitmap)
    inside = [rank for bitmap in bitmaps for rank in ranks_in(bitmap)]
    assert entered == [inside.count(rank) for rank in range(100)]
