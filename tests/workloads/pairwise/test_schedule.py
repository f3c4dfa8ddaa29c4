"""The schedule of an all-to-all, followed element by element without any packet."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.collectives.held import kept
from workloads.collectives.schedules import chunk_bounds
from workloads.errors import ScenarioError
from workloads.pairwise.schedule import pairwise


def own_place(rank: int, ranks: int, elements: int) -> tuple[range, range]:
    """(elements of its vector, places of its result) of what a rank gives itself."""
    start, stop = (at // 4 for at in chunk_bounds(elements, ranks)[rank])
    first = rank * (stop - start)
    return range(start, stop), range(first, first + stop - start)


@given(st.integers(2, 17), st.integers(0, 60))
def test_every_rank_ends_with_its_chunk_of_every_vector(ranks: int, elements: int) -> None:
    held: list[dict[int, tuple[int, int]]] = [{} for _ in range(ranks)]
    for rank in range(ranks):
        for element, place in zip(*own_place(rank, ranks, elements), strict=True):
            held[rank][place] = rank, element
    for phase in pairwise(ranks, elements):
        assert phase.sides is not None
        for source, target, given_side, taking in (
            (*phase.ranks, *phase.sides),
            (*phase.ranks[::-1], *phase.sides[::-1]),
        ):
            assert given_side.elements == taking.into_elements
            for offset in range(given_side.elements):
                place = taking.into_element + offset
                assert place not in held[target], "a place is filled once"
                held[target][place] = source, given_side.first_element + offset
    for rank, found in enumerate(held):
        start, stop = (at // 4 for at in chunk_bounds(elements, ranks)[rank])
        expected = [(source, element) for source in range(ranks) for element in range(start, stop)]
        assert [found[place] for place in sorted(found)] == expected
        assert kept("all_to_all", rank, ranks, elements, 0) == (0, len(expected))


@given(st.integers(2, 40))
def test_a_rank_gives_and_gets_one_chunk_in_each_step(ranks: int) -> None:
    given_in, taken_in, met = Counter[tuple[int, int]](), Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for phase in pairwise(ranks, ranks):
        assert phase.sides is not None
        for own, other, side in ((*phase.ranks, phase.sides[0]), (*phase.ranks[::-1], phase.sides[1])):
            given_in[phase.step, own] += side.elements
            taken_in[phase.step, own] += side.into_elements
            met[own, other] += side.elements
    each = {(step, rank): 1 for step in range(ranks - 1) for rank in range(ranks)}
    assert given_in == taken_in == each
    assert met == {(own, other): 1 for own in range(ranks) for other in range(ranks) if own != other}


def test_chunks_without_elements_need_no_phase() -> None:
    """But for a vector without elements: a worker has phases, which then carry nothing."""
    assert len(pairwise(4, 0)) == 6
    assert {rank for phase in pairwise(4, 1) for rank in phase.ranks if 0 not in phase.ranks} == set()


def test_one_rank_has_nobody_to_swap_with() -> None:
    with pytest.raises(ScenarioError):
        pairwise(1, 4)
