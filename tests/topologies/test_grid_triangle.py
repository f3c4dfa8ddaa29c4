from __future__ import annotations

from topologies import LinkShape, format_ip, grid_triangle


def test_the_triangle() -> None:
    topology = grid_triangle(LinkShape(rate_bps=30), overrides={"s1-s2": LinkShape(rate_bps=7)})
    assert [host.name for host in topology.hosts] == [*(f"w{number}" for number in range(1, 9)), "ps"]
    assert [switch.name for switch in topology.switches] == ["s1", "s2", "s3"]
    homes = {link.a: link.b for link in topology.links if link.a[0] in "wp"}
    assert [homes[f"w{number}"] for number in range(1, 9)] == ["s1"] * 4 + ["s2"] * 2 + ["s3"] * 2
    assert homes["ps"] == "s3"
    rates = {link.name: link.shape.rate_bps for link in topology.links[8:]}
    assert rates == {"ps-s3": 90, "s1-s3": 30, "s1-s2": 7, "s2-s3": 30}
    assert format_ip(topology.node("ps").ip) == "10.77.0.10"


def test_the_servers_link_may_be_another() -> None:
    topology = grid_triangle(LinkShape(rate_bps=30), LinkShape(rate_bps=60))
    assert topology.link("ps-s3").shape.rate_bps == 60
