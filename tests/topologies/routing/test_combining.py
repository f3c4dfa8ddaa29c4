"""Combining trees: every host is below exactly one port of each switch on its way, all ways end at the root, and they
meet as early as they can."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from topologies import LinkShape, Topology, fat_tree, rack, spine_leaf
from topologies.routing import Junction, combining_trees

SHAPE = LinkShape(rate_bps=1_000_000)


def cores(tree: Mapping[str, Junction]) -> set[str]:
    return {switch for switch in tree if switch.startswith(("core", "spine"))}


def test_a_rack_is_one_junction() -> None:
    (tree,) = combining_trees(rack(4, SHAPE), "h3", ["h1", "h2", "h4"])
    assert list(tree) == ["s1"]
    assert (tree["s1"].above, dict(tree["s1"].below)) == ("h3", {0: (0,), 1: (1,), 3: (2,)})


def test_each_spine_has_a_tree() -> None:
    trees = combining_trees(spine_leaf([2, 2, 2], 3, SHAPE, SHAPE), "h6", ["h1", "h2", "h3", "h4", "h5"])
    leaves = {"leaf1", "leaf2", "leaf3"}
    assert [set(tree) for tree in trees] == [leaves | {f"spine{number}"} for number in (1, 2, 3)]


def test_each_core_has_a_tree_and_no_tree_two_of_them() -> None:
    trees = combining_trees(fat_tree(4, SHAPE), "h16", [f"h{number}" for number in range(1, 16)])
    assert [cores(tree) for tree in trees] == [{"core1"}, {"core3"}, {"core2"}, {"core4"}]


def test_who_shares_a_pod_with_the_root_follows_those_who_come_from_elsewhere() -> None:
    """h1 and h2 are at the other edge switch of the root's pod, h5 is in another pod."""
    for tree in combining_trees(fat_tree(4, SHAPE), "h3", ["h1", "h5", "h9"]):
        (shared,) = {tree["edge1"].above, *(tree[core].above for core in cores(tree))}
        assert sorted(tree[shared].below.values()) == [(0,), (1, 2)]


def test_without_other_pods_the_aggregation_switches_take_turns() -> None:
    trees = combining_trees(fat_tree(4, SHAPE), "h3", ["h1", "h2"])
    assert [set(tree) for tree in trees] == [{"edge1", "edge2", "agg1"}, {"edge1", "edge2", "agg2"}]


def test_there_are_no_more_trees_than_anybody_needs() -> None:
    hosts = [f"h{number}" for number in range(1, 9)]
    assert len(combining_trees(spine_leaf([1] * 9, 70, SHAPE, SHAPE), "h9", hosts)) == 64


@pytest.mark.parametrize(
    "topology", [rack(9, SHAPE), spine_leaf([3, 1, 4], 3, SHAPE, SHAPE), fat_tree(4, SHAPE, SHAPE)]
)
def test_each_host_is_counted_once_on_every_switch_of_its_way(topology: Topology) -> None:
    *hosts, root = (host.name for host in topology.hosts)
    for tree in combining_trees(topology, root, hosts):
        tops = [junction for junction in tree.values() if junction.above == root]
        assert len(tops) == 1
        assert sorted(place for places in tops[0].below.values() for place in places) == list(range(len(hosts)))
        for name, junction in tree.items():
            below = sorted(place for places in junction.below.values() for place in places)
            assert len(set(below)) == len(below)
            assert junction.up not in junction.below
            if junction.above != root:
                above = [list(places) for places in tree[junction.above].below.values()]
                assert below in above, name
