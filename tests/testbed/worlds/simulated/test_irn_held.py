"""Where switches say what they hold, one loss costs one repeat, of the one host that can mend it, wherever it is."""

from __future__ import annotations

from collections import Counter

import pytest

from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.simulation import digests, expected_digests, of
from workloads.events import RcStatistics, Retransmission

FABRIC = "topology={kind: spine_leaf, leaves: 3, spines: 2, hosts_per_leaf: [3, 2, 2], link: {rate: 40Mbps}}"
RACK = "topology={kind: rack, hosts: 4, link: {rate: 40Mbps}}"


def drop(links: str, direction: str, match: str, number: int = 1) -> str:
    return f"{{kind: drop, name: lost-{number}, links: [{links}], direction: {direction}, match: {{{match}}}}}"


def data(attempt: int = 1) -> str:
    return f"opcode: data, message: 3, packet: 5, attempt: {attempt}"


def run(topology: str, *faults: str) -> Counter[tuple[str, str]]:
    """(host, cause) of all that was sent again."""
    changes = [
        topology,
        f"faults=[{', '.join(faults)}]",
        "transport.recovery=irn-held",
        "capture=false",
        "job.size=100kB",
        "job.dtype=int32",
    ]
    plan = make_plan(load_scenario("spine-leaf-partial-lost", changes, 1, "simulated"))
    records = simulate(plan)
    assert digests(records) == expected_digests(plan)
    assert sum(r.event.packets_sent for r in of(records, RcStatistics))
    return Counter((r.node, r.event.cause) for r in of(records, Retransmission))


@pytest.mark.parametrize(
    ("links", "direction", "again"),
    [
        ("h1-leaf1", "up", "h1"),
        ("h3-leaf1", "up", "h3"),
        ("leaf1-spine1, leaf1-spine2", "up", "h3"),
        ("leaf2-spine1, leaf2-spine2", "down", "h3"),
        ("h4-leaf2", "down", "h3"),
        ("h5-leaf2", "down", "h4"),
    ],
    ids=["inner packet", "boundary's packet", "partial", "value", "last hop of the boundary", "result"],
)
def test_one_loss_costs_one_repeat_on_a_fabric(links, direction, again):
    assert run(FABRIC, drop(links, direction, data())) == {(again, "nak"): 1}


@pytest.mark.parametrize(("link", "direction", "again"), [("h2-s1", "up", "h2"), ("h2-s1", "down", "h1")])
def test_one_loss_costs_one_repeat_on_a_rack(link, direction, again):
    assert run(RACK, drop(link, direction, data())) == {(again, "nak"): 1}


@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_is_lost_again_is_sent_again_before_a_timer(direction):
    """Each of the first three copies."""
    sender = {"up": "h2", "down": "h1"}[direction]
    assert run(FABRIC, *(drop("h2-leaf1", direction, data(n), n) for n in (1, 2, 3))) == {(sender, "nak"): 3}


def test_an_answer_that_is_lost_costs_nothing():
    assert run(FABRIC, drop("h2-leaf1", "up", "opcode: IRN_ANSWER, psn_offset: 30")) == {}
