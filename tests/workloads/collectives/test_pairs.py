"""Schedules in pairs, followed element by element without any packet."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.schedules import SCHEDULES
from workloads.binomial_tree.schedule import binomial_tree
from workloads.collectives.pairs import PairPhase
from workloads.costs import sent_bytes
from workloads.errors import ScenarioError
from workloads.rabenseifner.schedule import rabenseifner
from workloads.recursive_doubling.schedule import recursive_doubling
from workloads.sharded_ps.schedule import sharded_ps

VARIANTS = {**SCHEDULES, "rabenseifner far": partial(rabenseifner, far_first=True)}
_SUMS = ("chain_reduce", "reduce_scatter", "exchange", "collect")


def moves(phase: PairPhase) -> list[tuple[int, int, range]]:
    """(from, to, elements) of all that crosses the network"""
    first, second = phase.ranks
    start, count = phase.first_element, phase.elements
    middle, stop = start + (count + 1) // 2, start + count
    lower, upper, both = range(start, middle), range(middle, stop), range(start, stop)
    return {
        "chain_reduce": [(first, second, both)],
        "collect": [(first, second, both)],
        "ready": [],
        "chain_broadcast": [(first, second, both)],
        "exchange": [(first, second, both), (second, first, both)],
        "reduce_scatter": [(first, second, lower), (second, first, upper)],
        "all_gather": [(second, first, lower), (first, second, upper)],
    }[phase.kind]


def follow(schedule: tuple[PairPhase, ...], ranks: int, elements: int) -> list[list[frozenset[int]]]:
    """Whose parts each rank's element holds at the end; a part that would enter a sum twice is a failure."""
    held = [[frozenset([rank])] * elements for rank in range(ranks)]
    for _, step in groupby(sorted(schedule, key=lambda phase: phase.step), key=lambda phase: phase.step):
        arriving = [
            (phase.kind, to, item, held[source][item])
            for phase in step
            for source, to, items in moves(phase)
            for item in items
        ]
        for kind, to, item, value in arriving:
            if kind in _SUMS:
                assert not held[to][item] & value
                held[to][item] |= value
            else:
                held[to][item] = value
    return held


@pytest.mark.parametrize("name", VARIANTS)
@given(st.integers(2, 20), st.integers(0, 40))
def test_every_rank_ends_with_every_part_once(name: str, ranks: int, more: int) -> None:
    elements = ranks + more
    everybody = frozenset(range(ranks))
    held = follow(VARIANTS[name](ranks, elements), ranks, elements)
    assert all(value == everybody for rank in held for value in rank)


@pytest.mark.parametrize("name", VARIANTS)
@given(st.integers(2, 20))
def test_no_rank_has_two_phases_of_one_name(name: str, ranks: int) -> None:
    phases = Counter((rank, phase.name) for phase in VARIANTS[name](ranks, 64) for rank in phase.ranks)
    assert set(phases.values()) == {1}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
def test_the_busiest_rank_sends_what_the_closed_form_says(name: str, ranks: int) -> None:
    """The elements are a multiple of the ranks, so that halves are halves."""
    sent: Counter[int] = Counter()
    for phase in VARIANTS[name](ranks, 4 * ranks):
        for source, _, items in moves(phase):
            sent[source] += len(items)
    assert max(sent.values()) == sent_bytes(name.partition(" ")[0], ranks, 4 * ranks)


@pytest.mark.parametrize("name", VARIANTS)
@given(st.integers(2, 20))
def test_no_rank_goes_back_a_step(name: str, ranks: int) -> None:
    """What the engine takes for one step are phases that follow one another."""
    at: dict[int, int] = {}
    for phase in VARIANTS[name](ranks, 4 * ranks):
        for rank in phase.ranks:
            assert at.get(rank, -1) <= phase.step
            at[rank] = phase.step


def test_five_ranks_in_a_tree_and_the_early_one_waits_for_the_word() -> None:
    told = [(phase.step, phase.name, phase.ranks) for phase in binomial_tree(5, 10)]
    assert told == [
        (1, "up_0", (1, 0)), (1, "up_0", (3, 2)), (3, "up_1", (2, 0)), (5, "up_2", (4, 0)),
        (7, "down_2", (0, 4)), (8, "down_1", (0, 2)), (9, "down_0", (0, 1)), (9, "down_0", (2, 3)),
    ]  # fmt: skip
    large = {(phase.name, phase.ranks, phase.elements) for phase in binomial_tree(5, 100_000) if phase.kind == "ready"}
    assert large == {("ready_2", (0, 4), 1)}
    assert not [phase for phase in binomial_tree(8, 100_000) if phase.kind == "ready"]


def test_of_three_servers_each_gets_its_share_from_the_next_rank_first() -> None:
    told = [(phase.name, phase.first_element, phase.elements) for phase in sharded_ps(3, 7)]
    assert told == [
        ("to_2_from_0", 5, 2), ("to_0_from_1", 0, 3), ("to_1_from_2", 3, 2),
        ("to_1_from_0", 3, 2), ("to_2_from_1", 5, 2), ("to_0_from_2", 0, 3),
        ("of_0_to_2", 0, 3), ("of_1_to_0", 3, 2), ("of_2_to_1", 5, 2),
        ("of_0_to_1", 0, 3), ("of_1_to_2", 3, 2), ("of_2_to_0", 5, 2),
    ]  # fmt: skip


def test_six_ranks_fold_to_four_which_double() -> None:
    told = [(phase.name, phase.ranks) for phase in recursive_doubling(6, 10)]
    assert told == [
        ("fold_in", (0, 1)), ("fold_in", (2, 3)),
        ("exchange_0", (1, 3)), ("exchange_0", (4, 5)),
        ("exchange_1", (1, 4)), ("exchange_1", (3, 5)),
        ("fold_out", (1, 0)), ("fold_out", (3, 2)),
    ]  # fmt: skip


def test_four_ranks_halve_with_the_near_partner_first_and_double_with_the_far_one_first() -> None:
    told = [(phase.name, phase.ranks, phase.first_element, phase.elements) for phase in rabenseifner(4, 10)]
    assert told == [
        ("halve_0", (1, 0), 0, 10), ("halve_0", (3, 2), 0, 10),
        ("halve_1", (2, 0), 0, 5), ("halve_1", (3, 1), 5, 5),
        ("double_1", (2, 0), 0, 5), ("double_1", (3, 1), 5, 5),
        ("double_0", (1, 0), 0, 10), ("double_0", (3, 2), 0, 10),
    ]  # fmt: skip


def test_far_partners_first_halve_from_the_far_one_on() -> None:
    told = [(phase.name, phase.ranks, phase.first_element) for phase in rabenseifner(4, 8, far_first=True)]
    assert told == [
        ("halve_0", (2, 0), 0), ("halve_0", (3, 1), 0), ("halve_1", (1, 0), 0), ("halve_1", (3, 2), 4),
        ("double_1", (1, 0), 0), ("double_1", (3, 2), 4), ("double_0", (2, 0), 0), ("double_0", (3, 1), 0),
    ]  # fmt: skip


def test_near_partners_first_take_little_out_of_a_rack() -> None:
    """Four racks of four, an element per rank: the bytes that leave a rack, in gradients: 2 (R-1) / R for halving with
    near partners first, 2 m (1 - 1/R) with far ones."""
    for name, gradients in (("rabenseifner", 1.5), ("rabenseifner far", 6.0), ("recursive_doubling", 8.0)):
        left = sum(
            len(items) for phase in VARIANTS[name](16, 16) for source, to, items in moves(phase) if source < 4 <= to
        )
        assert left / 16 == gradients


def test_what_cannot_be_scheduled() -> None:
    for name, schedule in SCHEDULES.items():
        with pytest.raises(ScenarioError, match="no other rank to reduce with"):
            schedule(1, 10)
        assert schedule(2, 2), name
    with pytest.raises(ScenarioError, match="allowed: at least 4 elements"):
        rabenseifner(6, 3)
    assert rabenseifner(6, 4)
    with pytest.raises(ScenarioError, match="allowed: at least 6 elements"):
        sharded_ps(6, 5)
