"""The place of a switch in the trees of a job: which blocks take which, and places that cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.jobs import TreeChild, TreeLinks
from switch_nodes.ps import PsProgram
from switch_nodes.ps.trees import TreeJob
from tests.support.ps_bench import LEFT, OTHER_UP, UP, job_in_trees, switch_in_trees
from workloads.errors import ScenarioError


def test_blocks_take_the_trees_in_turn():
    served = TreeJob(job_in_trees())
    places = [served.place_of(block + 1) for block in range(6)]
    assert [None if place is None else place.up for place in places] == [UP, OTHER_UP, None] * 2


def test_a_sum_is_complete_with_all_that_are_below_in_its_tree():
    served = TreeJob(job_in_trees())
    assert [served.target_of(block + 1) for block in range(2)] == [0b1111, 0b0011]


def test_who_is_below_by_which_port():
    served = TreeJob(job_in_trees())
    place = served.place_of(1)
    assert place is not None
    children = [place.child_of(rank) for rank in range(5)]
    assert [None if child is None else child.port for child in children] == [0, 0, 1, 1, None]


CHILD = TreeChild(LEFT, 0b0011, -1)


@pytest.mark.parametrize(
    ("trees", "problem"),
    [
        ((), "trees"),
        ((None, None), "trees"),
        ((TreeLinks(UP, False, ()),), "ranks below"),
        ((TreeLinks(UP, False, (CHILD, replace(CHILD, port=1))),), "ranks below"),
        ((TreeLinks(UP, False, (replace(CHILD, ranks=0b100000),)),), "ranks below"),
        ((TreeLinks(LEFT, False, (CHILD,)),), "ports of the tree"),
        ((TreeLinks(99, False, (CHILD,)),), "ports of the tree"),
    ],
)
def test_places_that_cannot_be_are_refused(trees, problem):
    with pytest.raises(ScenarioError, match=problem):
        PsProgram(switch_in_trees(replace(job_in_trees(), trees=trees)))
