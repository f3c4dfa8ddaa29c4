from __future__ import annotations

import pytest

from topologies import LinkShape, machine_groups, machines, rack

INSIDE, UPLINK = LinkShape(rate_bps=200_000_000), LinkShape(rate_bps=50_000_000)


def test_every_worker_hangs_on_its_machine_and_every_machine_on_the_rack() -> None:
    topology = machines(2, 3, INSIDE, UPLINK)
    assert [link.name for link in topology.links] == [
        "h1-m1", "h2-m1", "h3-m1", "h4-m2", "h5-m2", "h6-m2", "m1-s1", "m2-s1",
    ]  # fmt: skip
    assert [link.shape for link in topology.links] == [INSIDE] * 6 + [UPLINK] * 2
    assert [(node.name, node.part) for node in topology.switches] == [
        ("m1", "machine"),
        ("m2", "machine"),
        ("s1", "rack"),
    ]
    # A machine's workers, then its uplink; the rack's ports in the order of the machines.
    assert [port for port, _, _ in topology.ports("m2")] == [0, 1, 2, 3]
    assert [(port, link.a) for port, link, _ in topology.ports("s1")] == [(0, "m1"), (1, "m2")]


def test_the_uplink_is_as_the_links_inside_unless_told_and_single_links_may_differ() -> None:
    topology = machines(2, 1, INSIDE, overrides={"m2-s1": UPLINK})
    assert [topology.link(name).shape for name in ("h1-m1", "m1-s1", "m2-s1")] == [INSIDE, INSIDE, UPLINK]


def test_the_groups_are_the_machines() -> None:
    assert [[node.name for node in group] for group in machine_groups(machines(2, 2, INSIDE))] == [
        ["h1", "h2"], ["h3", "h4"],
    ]  # fmt: skip
    assert [len(group) for group in machine_groups(rack(3, INSIDE))] == [3]


@pytest.mark.parametrize(("count", "workers"), [(0, 2), (2, 0)])
def test_a_machine_has_a_worker(count: int, workers: int) -> None:
    with pytest.raises(ValueError, match="at least one machine, with at least one worker"):
        machines(count, workers, INSIDE)
