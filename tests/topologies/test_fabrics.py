"""Spine-leaf and fat tree as graphs."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from topologies import LinkShape, Role, Topology, fat_tree, spine_leaf
from topologies.routing import component, tiers

SHAPE, FAST = LinkShape(), LinkShape(rate_bps=400_000_000)
FABRICS = [spine_leaf([2, 2, 2, 2], 2, SHAPE), spine_leaf([1, 3], 3, SHAPE), fat_tree(2, SHAPE), fat_tree(4, SHAPE),
           fat_tree(6, SHAPE)]  # fmt: skip


@pytest.mark.parametrize("topology", FABRICS, ids=lambda fabric: f"{fabric.kind}-{len(fabric.hosts)}")
def test_every_fabric_is_sound(topology: Topology) -> None:
    assert component(topology, topology.nodes[0].name) == {node.name for node in topology.nodes}
    assert all(len(node.name) <= 10 for node in topology.nodes)
    ends = [(link.a, link.a_port) for link in topology.links] + [(link.b, link.b_port) for link in topology.links]
    assert len(set(ends)) == len(ends)
    for node in topology.nodes:
        ports = sorted(port for port, _, _ in topology.ports(node.name))
        assert ports == list(range(len(ports)))
        assert node.role is Role.SWITCH or len(ports) == 1
    assert (
        len({host.ip for host in topology.hosts}) == len({host.mac for host in topology.hosts}) == len(topology.hosts)
    )
    # Ranks of one rack follow each other: each leaf begins where the one before ended.
    homes = [next(link.b for _, link, _ in topology.ports(host.name)) for host in topology.hosts]
    assert sum(first != second for first, second in pairwise(homes)) == len(set(homes)) - 1


def test_spine_leaf() -> None:
    topology = spine_leaf([2, 1], 2, SHAPE, FAST)
    assert [link.name for link in topology.links] == [
        "h1-leaf1", "h2-leaf1", "h3-leaf2", "leaf1-spine1", "leaf1-spine2", "leaf2-spine1", "leaf2-spine2",
    ]  # fmt: skip
    assert [node.part for node in topology.switches] == ["leaf", "leaf", "spine", "spine"]
    assert [link.shape for link in topology.links] == [SHAPE] * 3 + [FAST] * 4
    assert [port for port, _, _ in topology.ports("leaf2")] == [0, 1, 2]


def test_oversubscription_is_host_rate_over_uplink_rate_of_each_leaf() -> None:
    topology = spine_leaf([4, 2], 2, SHAPE, LinkShape(delay_ns=7), oversubscription=4)
    shapes = {link.name: link.shape for link in topology.links}
    assert shapes["leaf1-spine1"] == LinkShape(rate_bps=50_000_000, delay_ns=7)
    assert shapes["leaf2-spine2"] == LinkShape(rate_bps=25_000_000, delay_ns=7)
    assert shapes["h1-leaf1"] == SHAPE


@pytest.mark.parametrize(("k", "hosts", "switches"), [(2, 2, 5), (4, 16, 20), (6, 54, 45)])
def test_fat_tree_has_the_counts_of_the_paper(k: int, hosts: int, switches: int) -> None:
    topology = fat_tree(k, SHAPE)
    assert (len(topology.hosts), len(topology.switches)) == (hosts, switches)
    assert {len(list(topology.ports(node.name))) for node in topology.switches} == {k}
    assert Counter(tiers(topology).values()) == {0: hosts, 1: k * k // 2, 2: k * k // 2, 3: k * k // 4}


def test_every_core_of_a_fat_tree_reaches_each_pod_once() -> None:
    topology = fat_tree(4, SHAPE, FAST, LinkShape(rate_bps=1))
    below = {
        core: [link.a for link in topology.links if link.b == core] for core in ("core1", "core2", "core3", "core4")
    }
    assert below == {
        "core1": ["agg1", "agg3", "agg5", "agg7"],
        "core2": ["agg1", "agg3", "agg5", "agg7"],
        "core3": ["agg2", "agg4", "agg6", "agg8"],
        "core4": ["agg2", "agg4", "agg6", "agg8"],
    }
    assert [topology.link(name).shape.rate_bps for name in ("h1-edge1", "edge1-agg2", "agg2-core4")] == [
        SHAPE.rate_bps, FAST.rate_bps, 1,
    ]  # fmt: skip


@pytest.mark.parametrize("k", [0, 3, -2])
def test_k_is_even(k: int) -> None:
    with pytest.raises(ValueError, match="even"):
        fat_tree(k, SHAPE)


def test_a_fat_tree_with_more_hosts_at_its_edges():
    topology = fat_tree(4, LinkShape(), hosts_per_edge=3)
    assert (len(topology.hosts), len(topology.switches)) == (24, 20)
    assert [link.b for link in topology.links[:7]] == ["edge1"] * 3 + ["edge2"] * 3 + ["edge3"]
