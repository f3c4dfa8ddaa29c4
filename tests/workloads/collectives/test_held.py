"""What a rank holds after each operation."""

from __future__ import annotations

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from workloads.collectives.held import given, kept


@hypothesis_given(st.integers(2, 40), st.integers(0, 200))
def test_the_parts_of_a_reduce_scatter_are_the_whole(ranks: int, elements: int) -> None:
    at = 0
    for rank in range(ranks):
        first, number = kept("reduce_scatter", rank, ranks, elements, 0) or (-1, -1)
        assert first == at
        at += number
    assert at == elements


def test_only_the_root_of_a_reduce_holds_anything() -> None:
    assert [kept("reduce", rank, 4, 10, 2) for rank in range(4)] == [(0, 0), (0, 0), None, (0, 0)]


@pytest.mark.parametrize("operation", ["all_reduce", "all_gather", "broadcast"])
def test_others_fill_the_whole_result(operation: str) -> None:
    assert kept(operation, 1, 4, 10, 0) is None


@hypothesis_given(st.integers(2, 40), st.integers(0, 200))
def test_the_parts_that_ranks_give_to_an_all_gather_are_the_whole(ranks: int, elements: int) -> None:
    parts = [given("all_gather", rank, ranks, elements, 0) or (-1, 1) for rank in range(ranks)]
    assert [at for first, number in parts for at in range(first, first + number)] == list(range(elements))


def test_only_the_root_gives_a_broadcast() -> None:
    assert [given("broadcast", rank, 3, 10, 1) for rank in range(3)] == [(0, 0), None, (0, 0)]


@pytest.mark.parametrize("operation", ["all_reduce", "reduce_scatter", "reduce"])
def test_all_give_what_is_summed(operation: str) -> None:
    assert given(operation, 1, 4, 10, 0) is None


def test_a_barrier_has_nothing_to_give() -> None:
    assert given("barrier", 1, 4, 10, 0) == (0, 0)
