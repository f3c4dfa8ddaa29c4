"""A broadcast and a reduce over the binomial tree, followed without any packet."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.binomial_tree.schedule import tree_broadcast, tree_reduce
from workloads.collectives.pairs import PairPhase
from workloads.errors import ScenarioError

ROOTED = st.integers(2, 33).flatmap(lambda ranks: st.tuples(st.just(ranks), st.integers(0, ranks - 1)))


def steps(phases: tuple[PairPhase, ...]) -> list[list[PairPhase]]:
    return [list(step) for _, step in groupby(phases, key=lambda phase: phase.step)]


@given(ROOTED)
def test_a_reduce_brings_every_vector_to_the_root_once(case: tuple[int, int]) -> None:
    ranks, root = case
    held = [frozenset([rank]) for rank in range(ranks)]
    for step in steps(tree_reduce(ranks, 8, root)):
        for phase in step:
            child, parent = phase.ranks
            if phase.kind == "chain_reduce":
                assert not held[parent] & held[child]
                held[parent] |= held[child]
    assert held[root] == frozenset(range(ranks))


@given(ROOTED)
def test_a_broadcast_brings_the_roots_vector_to_every_rank(case: tuple[int, int]) -> None:
    ranks, root = case
    has = {root}
    for step in steps(tree_broadcast(ranks, 8, root)):
        for phase in step:
            parent, child = phase.ranks
            if phase.kind == "chain_broadcast":
                assert parent in has, "a rank passes on what it has"
                assert child not in has
                has.add(child)
    assert has == set(range(ranks))


@given(ROOTED, st.sampled_from([tree_broadcast, tree_reduce]))
def test_who_takes_a_vector_says_first_that_it_is_ready(case: tuple[int, int], tree) -> None:
    ready = set()
    for phase in tree(case[0], 8, case[1]):
        if phase.kind == "ready":
            ready.add((phase.step, phase.ranks))
            assert phase.elements == 1
        else:
            assert (phase.step - 1, phase.ranks[::-1]) in ready


@pytest.mark.parametrize("tree", [tree_broadcast, tree_reduce])
def test_nothing_travels_of_an_empty_vector(tree) -> None:
    assert {phase.elements for phase in tree(5, 0, 2)} == {0}


@pytest.mark.parametrize("tree", [tree_broadcast, tree_reduce])
def test_one_rank_is_no_tree(tree) -> None:
    with pytest.raises(ScenarioError):
        tree(1, 8, 0)
