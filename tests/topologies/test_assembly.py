from __future__ import annotations

import pytest

from topologies import Cable, LinkShape, assemble, host, switch

SHAPE, SLOW = LinkShape(), LinkShape(rate_bps=1_000_000)
NODES = (host(1), host(2), switch("s1"), switch("s2"))


def test_ports_count_in_the_order_of_the_cables() -> None:
    cables = [Cable("h1", "s1", SHAPE), Cable("s1", "s2", SHAPE), Cable("h2", "s2", SHAPE)]
    topology = assemble("test", NODES, cables, {"s1-s2": SLOW})
    assert [(link.name, link.a_port, link.b_port) for link in topology.links] == [
        ("h1-s1", 0, 0),
        ("s1-s2", 1, 0),
        ("h2-s2", 0, 1),
    ]
    assert [link.shape for link in topology.links] == [SHAPE, SLOW, SHAPE]


@pytest.mark.parametrize("ends", [("h1", "s9"), ("s1", "s1"), ("s1", "h1"), ("h1", "s1")])
def test_a_link_joins_two_nodes_that_no_other_link_joins(ends: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=f"link {ends[0]}-{ends[1]}: its ends are not two nodes"):
        assemble("test", NODES, [Cable("h1", "s1", SHAPE), Cable(*ends, SHAPE)])


def test_names_of_nodes_are_unique() -> None:
    with pytest.raises(ValueError, match="two nodes have one name"):
        assemble("test", [host(1), host(2, "h1")], [])
