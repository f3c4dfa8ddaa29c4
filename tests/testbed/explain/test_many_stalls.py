"""32 planted stalls are each named. 32 healthy runs, the same jobs with losses that are repaired, are not blamed."""

from __future__ import annotations

import pytest

from tests.support.states_cases import interpreted

PROTOCOLS = ("switchml", "atp", "esa", "netreduce")
PLANTED = {
    "cut": ("{kind: link_down, name: cut, links: [h2-s1], from: 2ms}", "h2-s1"),
    "early cut": ("{kind: link_down, name: cut, links: [h1-s1], from: 500us}", "h1-s1"),
    "dead": ("{kind: kill, name: dead, node: h2, from: 1ms}", "h2"),
    "late death": ("{kind: kill, name: dead, node: h1, from: 2ms}", "h1"),
    "cut at the third": ("{kind: link_down, name: cut, links: [h3-s1], from: 1ms}", "h3-s1"),
    "third dead": ("{kind: kill, name: dead, node: h3, from: 1500us}", "h3"),
    "switch dead": ("{kind: kill, name: dead, node: s1, from: 1ms}", "s1"),
    "switch dead early": ("{kind: kill, name: dead, node: s1, from: 300us}", "s1"),
}
"""fault that stalls the job for good, and where"""
ALSO_LOST = {("esa", "cut at the third"): 1, ("esa", "third dead"): 1}
"""packets that must be lost too: without a loss, the switch of ESA gives all results without its server"""
SEEDS = 8


@pytest.mark.minutes
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_planted_stalls_are_named(protocol: str) -> None:
    found = interpreted(
        "explained_all", protocol, [(seed, [fault]) for seed, (fault, _) in enumerate(PLANTED.values())]
    )
    assert len(PROTOCOLS) * len(found) >= 30
    for (what, (fault, place)), explained in zip(PLANTED.items(), found, strict=True):
        assert explained["stalled"], what
        assert explained["minimal"], what
        needed = [name for name in explained["faults"] if f"name: {name}," not in fault]
        assert len(explained["faults"]) == len(needed) + 1, (what, explained["faults"])
        assert len(needed) == ALSO_LOST.get((protocol, what), 0), (what, explained["faults"])
        assert set(explained["out_of_order"]) == {place}, (what, explained["out_of_order"])


@pytest.mark.minutes
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_healthy_runs_are_not_blamed(protocol: str) -> None:
    found = interpreted("explained_all", protocol, [(seed, []) for seed in range(SEEDS)])
    assert len(PROTOCOLS) * len(found) >= 30
    for seed, explained in enumerate(found):
        assert explained["stalled"] == explained["waits"] == explained["circle"] == [], seed
        assert not explained["out_of_order"], seed
