from __future__ import annotations

from itertools import pairwise

import pytest

from topologies import MAX_HOSTS, Direction, LinkShape, Role, format_ip, format_mac, rack

SHAPE = LinkShape()


@pytest.mark.parametrize("hosts", [2, 4, MAX_HOSTS])
def test_each_host_has_one_link_to_the_switch(hosts: int) -> None:
    topology = rack(hosts, SHAPE)
    assert [node.name for node in topology.hosts] == [f"h{n}" for n in range(1, hosts + 1)]
    assert [node.name for node in topology.switches] == ["s1"]
    assert [(link.a, link.b_port) for link in topology.links] == [(f"h{n + 1}", n) for n in range(hosts)]
    assert len({node.ip for node in topology.hosts}) == len({node.mac for node in topology.hosts}) == hosts


def test_addresses_are_locally_administered_unicast_and_in_rank_order() -> None:
    hosts = rack(4, SHAPE).hosts
    assert all(node.mac[0] & 0b11 == 0b10 for node in hosts)
    assert all(first.ip < second.ip for first, second in pairwise(hosts))
    assert (format_ip(hosts[0].ip), format_mac(hosts[0].mac)) == ("10.77.0.2", "02:49:4e:41:00:01")


def test_one_link_may_have_a_shape_of_its_own() -> None:
    slow = LinkShape(rate_bps=1_000_000)
    topology = rack(3, SHAPE, {"h2-s1": slow})
    assert [link.shape for link in topology.links] == [SHAPE, slow, SHAPE]


def test_ports_say_in_which_direction_a_frame_enters() -> None:
    topology = rack(2, SHAPE)
    assert [(p, link.name, way) for p, link, way in topology.ports("s1")] == [
        (0, "h1-s1", Direction.UP),
        (1, "h2-s1", Direction.UP),
    ]
    assert [(p, way) for p, _, way in topology.ports("h2")] == [(0, Direction.DOWN)]


def test_names_are_found_or_refused() -> None:
    topology = rack(2, SHAPE)
    assert topology.node("s1").role is Role.SWITCH
    assert topology.link("h2-s1").a == "h2"
    for find in (topology.node, topology.link):
        with pytest.raises(KeyError, match="nope"):
            find("nope")
