"""Sums of a trace in the order that all ranks share."""

from __future__ import annotations

import numpy as np
import pytest

from workloads.gradients import AwaitedSource, awaited
from workloads.traces.program import Communication
from workloads.traces.sums import SumsInTurn


def communication(elements: int, turn: int) -> Communication:
    return Communication("all_reduce", 0, 0, 0, 2, 0, elements, 0, elements, turn=turn)


class Source:
    elements, dtype, iterations = 20, np.dtype("<i4"), 2


@pytest.fixture
def sums() -> SumsInTurn:
    """The second communication is the first sum; the third one has connections of its own."""
    found = SumsInTurn([communication(5, 1), communication(3, 0), communication(9, -1)], Source())  # type: ignore[arg-type]
    assert isinstance(awaited(found), AwaitedSource)
    return found


def vectors(length: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(length, dtype="<i4"), np.zeros(length, "<i4")


def test_a_sum_waits_for_its_turn(sums: SumsInTurn) -> None:
    assert (sums.elements, sums.dtype, sums.poll_ns) == (5, np.dtype("<i4"), 0)
    given, held = vectors(5)
    sums.begin(0, 0, given, held)
    assert not sums.is_ready(0)
    sums.begin(0, 1, *vectors(3))
    assert sums.is_ready(0)
    assert list(sums.gradient(0)) == [0, 1, 2]
    assert sums.is_ready(1)
    assert list(sums.gradient(1)) == [0, 1, 2, 3, 4]


def test_a_result_is_in_its_place_when_the_trace_hears_of_it(sums: SumsInTurn) -> None:
    given, _ = vectors(3)
    held = np.full(4, 7, "<i4")
    sums.begin(0, 1, given, held)
    sums.apply(0, given * 2)
    assert list(sums.over) == [1]
    assert list(held) == [0, 2, 4, 7]
    assert not sums.is_ready(0)


def test_the_next_iteration_counts_on(sums: SumsInTurn) -> None:
    sums.begin(1, 1, *vectors(3))
    assert [number for number in range(4) if sums.is_ready(number)] == [2]
    assert [sums.number_of(number) for number in range(4)] == [(0, 1), (0, 0), (1, 1), (1, 0)]


def test_nobody_knows_how_many_there_are_until_the_trace_ends(sums: SumsInTurn) -> None:
    assert sums.iterations > 1_000_000
    sums.begin(0, 1, *vectors(3))
    sums.apply(0, np.zeros(3, "<i4"))
    sums.end()
    assert sums.iterations == 1
    sums.reset()
    assert not sums.over


def test_a_trace_without_sums() -> None:
    sums = SumsInTurn([communication(9, -1)], Source())  # type: ignore[arg-type]
    sums.end()
    assert (sums.elements, sums.iterations, sums.is_ready(0)) == (1, 0, False)
