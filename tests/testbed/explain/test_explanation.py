"""Planted stalls are named, and healthy jobs are not blamed."""

from __future__ import annotations

import pytest

from tests.support.states_cases import interpreted

_CUT = "{kind: link_down, name: cut, links: [h2-s1], from: 2ms}"
_SERVER_DEAD = "{kind: kill, name: gone, node: h3, from: 2ms}"
_WORKER_DEAD = "{kind: kill, name: gone, node: h2, from: 1ms}"


@pytest.mark.parametrize(
    ("protocol", "fault", "cause", "place"),
    [
        ("switchml", _WORKER_DEAD, "gone", "h2"),
        ("switchml", _CUT, "cut", "h2-s1"),
        ("atp", _SERVER_DEAD, "gone", "h3"),
        ("netreduce", _CUT, "cut", "h2-s1"),
    ],
)
def test_a_planted_stall_is_named(protocol: str, fault: str, cause: str, place: str) -> None:
    found = interpreted("explained", protocol, [fault], "")
    assert "h1" in found["stalled"]
    assert found["faults"] == [cause], "losses that were repaired are no part of it"
    assert found["minimal"]
    assert place in found["out_of_order"]


def test_over_two_tiers_leaves_wait_for_the_root_and_the_root_for_leaves() -> None:
    cut = "{kind: link_down, name: cut, links: [leaf2-spine1], direction: up, from: 2ms}"
    tiers = "kind: spine_leaf, leaves: 2, spines: 1, hosts_per_leaf: 2"
    found = interpreted("explained", "switchml", [cut], "", 1, tiers)
    assert found["faults"] == ["cut"]
    assert set(found["stalled"]) == {"h1", "h2", "h3", "h4"}
    pairs = {(wait["node"], wait["of"]) for wait in found["waits"]}
    workers = {("h1", "leaf1"), ("h2", "leaf1"), ("h3", "leaf2"), ("h4", "leaf2")}
    assert pairs == workers | {("leaf1", "spine1"), ("leaf2", "spine1"), ("spine1", "leaf2")}
    assert {wait["of"] for wait in found["circle"]} == {"leaf2", "spine1"}


def test_one_lost_result_and_a_switch_that_does_not_answer_make_a_circle() -> None:
    found = interpreted("explained", "switchml", [], "NoReplay")
    assert len(found["faults"]) == 1, "one packet suffices"
    first, second = found["circle"]
    assert {first["node"], second["node"]} >= {"s1"}
    assert (first["of"], second["of"]) == (second["node"], first["node"])
    worker = first if first["of"] == "s1" else second
    assert worker["what"].startswith("the result of block")


@pytest.mark.parametrize("protocol", ["switchml", "atp", "esa", "netreduce"])
def test_a_healthy_job_is_not_blamed(protocol: str) -> None:
    found = interpreted("explained", protocol, [], "")
    assert found["stalled"] == []
    assert found["waits"] == found["circle"] == []


def test_a_stall_without_faults_is_told() -> None:
    found = interpreted("explained", "switchml", [], "runs_ahead")
    assert found["stalled"] == ["h1", "h2", "h3"]
    assert found["faults"] == []
