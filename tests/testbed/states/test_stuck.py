"""States from which no way leads to the end."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from testbed.states.stuck import cannot_finish


def _edges(pairs: list[tuple[int, int]]) -> tuple[array[int], array[int]]:
    return array("I", [source for source, _ in pairs]), array("I", [target for _, target in pairs])


def test_a_circle_without_a_way_out_is_stuck() -> None:
    pairs = [(0, 1), (1, 2), (0, 3), (3, 4), (4, 3)]
    assert cannot_finish(_edges(pairs), bytearray([0, 0, 1, 0, 0]), bytes([1] * 5)) == [3, 4]
    assert cannot_finish(_edges(pairs), bytearray([0, 0, 1, 0, 0]), bytes([1, 1, 1, 1, 0])) == [3]


def test_no_edges_at_all() -> None:
    assert cannot_finish(_edges([]), bytearray([0, 1]), bytes([1, 1])) == [0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30), st.sets(st.integers(0, 9)))
def test_it_is_what_a_plain_search_finds(pairs: list[tuple[int, int]], ends: set[int]) -> None:
    reaches = set(ends)
    for _ in range(10):
        reaches |= {source for source, target in pairs if target in reaches}
    done = bytearray(number in ends for number in range(10))
    assert cannot_finish(_edges(pairs), done, bytes([1] * 10)) == [
        number for number in range(10) if number not in reaches
    ]
