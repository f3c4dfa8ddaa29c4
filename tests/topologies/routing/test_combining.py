"""Combining trees: every host is below exactly one port of each switch on its way, and all ways end at the root."""

from __future__ import annotations

import pytest

from topologies import LinkShape, Topology, fat_tree, rack, spine_leaf
from topologies.routing import combining_tree

SHAPE = LinkShape(rate_bps=1_000_000)


def test_a_rack_is_one_junction() -> None:
    tree = combining_tree(rack(4, SHAPE), "h3", ["h1", "h2", "h4"])
    assert list(tree) == ["s1"]
    assert (tree["s1"].above, dict(tree["s1"].below)) == ("h3", {0: (0,), 1: (1,), 3: (2,)})


def test_trees_of_other_numbers_take_other_spines() -> None:
    fabric = spine_leaf([2, 2], 2, SHAPE, SHAPE)
    trees = [set(combining_tree(fabric, "h4", ["h1", "h2", "h3"], number)) for number in range(3)]
    assert trees == [{"leaf1", "leaf2", "spine1"}, {"leaf1", "leaf2", "spine2"}, {"leaf1", "leaf2", "spine1"}]


@pytest.mark.parametrize(
    "topology", [rack(9, SHAPE), spine_leaf([3, 1, 4], 3, SHAPE, SHAPE), fat_tree(4, SHAPE, SHAPE)]
)
@pytest.mark.parametrize("number", range(4))
def test_each_host_is_counted_once_on_every_switch_of_its_way(topology: Topology, number: int) -> None:
    *hosts, root = (host.name for host in topology.hosts)
    tree = combining_tree(topology, root, hosts, number)
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
