"""What a SwitchML switch omits: elements of contributions that are zeros, and of sums that a worker does not need."""

from __future__ import annotations

from typing import Any

import pytest

from switch_nodes.switchml import SwitchMlProgram
from tests.support.switchml_bench import Bench
from workloads.datagrams.blocks import BlockSummed, ContributionIgnored
from workloads.wire.aggregation import DatagramFlag, DatagramKind

VERSION, EMPTY, UNWANTED = (int(flag) for flag in (DatagramFlag.VERSION, DatagramFlag.EMPTY, DatagramFlag.UNWANTED))


def bench() -> Bench:
    return Bench(SwitchMlProgram)


@pytest.mark.parametrize("giver", [0, 1, 2])
def test_the_elements_of_one_are_the_sum(giver: int) -> None:
    switch = bench()
    switch.send_all(0)  # its elements must not stay in the slot
    for rank in range(3):
        switch.send(rank, 4)
    for rank in range(3):
        out = switch.send(rank, 8, [7, -7, 1] if rank == giver else [], flags=0 if rank == giver else EMPTY)
    assert out == {key: [7, -7, 1] for key in range(3)}
    assert switch.told(BlockSummed)[-1] == BlockSummed(7, 8, 0, (1, 1, 1))


def test_a_sum_of_zeros_alone_has_no_elements() -> None:
    switch = bench()
    for rank in range(3):
        out = switch.send(rank, 0, [], flags=EMPTY)
    assert out == {0: [], 1: [], 2: []}


def test_only_those_get_the_sum_that_want_it() -> None:
    switch = bench()
    for rank in range(3):
        out = switch.send(rank, 0, [rank, 5], exponents=(rank, 9 - rank), flags=0 if rank == 1 else UNWANTED)
    assert out == {0: [], 1: [3, 15], 2: []}
    frames = switch.give(2, switch.frames(2, 0, [2, 5], exponents=(2, 7), flags=UNWANTED))
    ((_, again),) = switch.results(frames)
    assert (again.header.nelem, again.header.flags & UNWANTED) == (0, UNWANTED)
    assert (again.header.exponent0, again.header.exponent1) == (2, 9)
    assert switch.send(1, 0, [1, 5], exponents=(1, 8)) == {1: [3, 15]}


def test_who_wants_a_sum_is_forgotten_with_its_block() -> None:
    switch = bench()
    switch.send_all(0)
    for block, flags in ((4, VERSION), (8, 0)):
        for rank in range(3):
            out = switch.send(rank, block, [1], flags=flags | (UNWANTED if rank else 0))
    assert out == {0: [3], 1: [], 2: []}


def test_a_repetition_without_elements_changes_nothing() -> None:
    switch = bench()
    switch.send(0, 0, [], flags=EMPTY)
    assert switch.send(0, 0, [], flags=EMPTY) == {}
    assert switch.send(0, 0, [4]) == {}  # it counted without them
    switch.send(1, 0, [5])
    assert switch.send(2, 0, [], flags=EMPTY) == {key: [5] for key in range(3)}


def test_lengths_must_still_agree() -> None:
    switch = bench()
    switch.send(0, 0, [], flags=EMPTY)
    switch.send(1, 0, [5, 6])
    assert switch.send(2, 0, [5]) == {}
    assert switch.told(ContributionIgnored) == [ContributionIgnored(7, 2, 0, 0, "mismatch")]


@pytest.mark.parametrize("changes", [{"values": [1]}, {"values": [], "kind": DatagramKind.EXPONENTS}])
def test_a_contribution_that_says_empty_has_no_elements(changes: dict[str, Any]) -> None:
    switch = bench()
    assert switch.send(0, 0, flags=EMPTY, **changes) == {}
    assert switch.told(ContributionIgnored) == [ContributionIgnored(7, 0, 0, 0, "malformed")]
