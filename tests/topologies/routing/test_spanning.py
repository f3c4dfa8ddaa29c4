from __future__ import annotations

import pytest

from topologies import Cable, LinkShape, Topology, assemble, fat_tree, host, rack, spine_leaf, switch
from topologies.routing import spanning_ports

SHAPE = LinkShape()


@pytest.mark.parametrize("topology", [rack(3, SHAPE), spine_leaf([2, 1, 2], 3, SHAPE), fat_tree(4, SHAPE)],
                         ids=lambda t: t.kind)  # fmt: skip
def test_the_tree_holds_both_ends_of_its_links_and_one_link_less_than_nodes(topology: Topology) -> None:
    tree = spanning_ports(topology)
    hosts = {node.name for node in topology.hosts}
    inside = [
        link for link in topology.links
        if (link.a in hosts or link.a_port in tree[link.a]) and (link.b in hosts or link.b_port in tree[link.b])
    ]  # fmt: skip
    assert len(inside) == len(topology.nodes) - 1
    # No port stands alone: what one end floods, the other takes.
    assert sum(map(len, tree.values())) == 2 * len(inside) - len(hosts)
    reached = {topology.nodes[0].name}
    for _ in topology.nodes:
        reached |= {end for link in inside if reached & {link.a, link.b} for end in (link.a, link.b)}
    assert reached == {node.name for node in topology.nodes}


def test_a_spine_is_the_root() -> None:
    tree = spanning_ports(spine_leaf([1, 1], 2, SHAPE))
    assert tree == {"leaf1": (0, 1, 2), "leaf2": (0, 2), "spine1": (0,), "spine2": (0, 1)}


def test_parts_that_are_not_joined_have_trees_of_their_own() -> None:
    nodes = (host(1), host(2), switch("s1"), switch("s2"))
    topology = assemble("test", nodes, [Cable("h1", "s1", SHAPE), Cable("h2", "s2", SHAPE)])
    assert spanning_ports(topology) == {"s1": (0,), "s2": (0,)}
