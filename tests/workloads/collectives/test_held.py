"""What a rank holds after each operation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.collectives.held import kept


@given(st.integers(2, 40), st.integers(0, 200))
def test_the_parts_of_a_reduce_scatter_are_the_whole(ranks: int, elements: int) -> None:
    at = 0
    for rank in range(ranks):
        first, number = kept("reduce_scatter", rank, ranks, elements, 0)
        assert first == at
        at += number
    assert at == elements


def test_only_the_root_of_a_reduce_holds_anything() -> None:
    assert [kept("reduce", rank, 4, 10, 2) for rank in range(4)] == [(0, 0), (0, 0), None, (0, 0)]


@pytest.mark.parametrize("operation", ["all_reduce", "all_gather", "broadcast"])
def test_others_fill_the_whole_result(operation: str) -> None:
    assert kept(operation, 1, 4, 10, 0) is None
