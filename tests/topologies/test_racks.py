"""Which switch has which hosts, and what is no two tiers."""

from __future__ import annotations

import pytest

from topologies import LinkShape, Topology, fat_tree, rack, spine_leaf
from topologies.assembly import Cable, assemble, host, switch
from topologies.racks import racks_of

SHAPE = LinkShape()


def of(*cables: tuple[str, str], switches: tuple[str, ...] = ("a", "b", "top", "x"), hosts: int = 4) -> Topology:
    used = {end for cable in cables for end in cable}
    nodes = [host(number) for number in range(1, hosts + 1)] + [switch(name) for name in switches if name in used]
    return assemble("custom", nodes, [Cable(a, b, SHAPE) for a, b in cables])


HOMES = (("h1", "a"), ("h2", "a"), ("h3", "b"), ("h4", "b"))
TWO_TIERS = of(*HOMES, ("a", "top"), ("b", "top"))


def test_every_rack_of_a_fabric() -> None:
    topology = spine_leaf([2, 1, 3], 2, SHAPE)
    found = racks_of(topology, topology.hosts)
    assert [spine.name for spine in found.spines] == ["spine1", "spine2"]
    assert [(rack.leaf.name, [node.name for node in rack.hosts]) for rack in found.racks] == [
        ("leaf1", ["h1", "h2"]), ("leaf2", ["h3"]), ("leaf3", ["h4", "h5", "h6"]),
    ]  # fmt: skip
    assert [rack.host_ports for rack in found.racks] == [(0, 1), (0,), (0, 1, 2)]
    assert [rack.uplinks for rack in found.racks] == [(2, 3), (1, 2), (3, 4)]
    assert [rack.spine_ports for rack in found.racks] == [(0, 0), (1, 1), (2, 2)]


def test_hosts_without_a_rank_do_not_matter_and_racks_are_in_rank_order() -> None:
    topology = spine_leaf([2, 2], 1, SHAPE)
    h1, _, h3, h4 = topology.hosts
    found = racks_of(topology, [h4, h3, h1])
    assert [(rack.leaf.name, [node.name for node in rack.hosts], rack.host_ports) for rack in found.racks] == [
        ("leaf2", ["h4", "h3"], (1, 0)), ("leaf1", ["h1"], (0,)),
    ]  # fmt: skip


def test_ports_are_those_of_the_links_whatever_their_order() -> None:
    topology = of(("b", "top"), ("h3", "b"), ("h4", "b"), ("a", "top"), ("h1", "a"), ("h2", "a"))
    first, second = racks_of(topology, topology.hosts).racks
    assert (first.host_ports, first.uplinks, first.spine_ports) == ((1, 2), (0,), (1,))
    assert (second.host_ports, second.uplinks, second.spine_ports) == ((1, 2), (0,), (0,))


@pytest.mark.parametrize(
    ("topology", "problem"),
    [
        (of(*HOMES, ("h4", "a"), ("a", "top"), ("b", "top")), "host h4 has several links"),
        (of(*HOMES[:3], ("h4", "h5"), ("a", "top"), ("b", "top"), hosts=5), "host h4 stands in for a switch"),
        (rack(3, SHAPE), "all hosts are on one leaf"),
        (of(*HOMES, ("a", "b")), "no switch is free of hosts, to be a spine"),
        (of(*HOMES, ("a", "top"), ("b", "x"), ("top", "x")), ("top has no hosts and is linked to x, which has none "
                                                             "either")),
        (fat_tree(4, SHAPE), "agg1 has no hosts and is linked to core1, which has none either"),
        (of(*HOMES, ("a", "top"), ("b", "top"), ("a", "x")), "b is not linked to x"),
    ],
)  # fmt: skip
def test_what_is_no_two_tiers(topology: Topology, problem: str) -> None:
    ranks = [node for node in topology.hosts if node.name != "h4"] if "stands" in problem else topology.hosts
    with pytest.raises(ValueError, match=f"^{problem}$"):
        racks_of(topology, ranks)


def test_ranks_that_come_back_to_a_rack() -> None:
    h1, h2, h3, h4 = TWO_TIERS.hosts
    assert len(racks_of(TWO_TIERS, [h1, h2, h3, h4]).racks) == 2
    with pytest.raises(ValueError, match=r"^the ranks of a's hosts are not contiguous$"):
        racks_of(TWO_TIERS, [h1, h3, h2, h4])
