"""Circles among waits, and where all waiting ends."""

from __future__ import annotations

from testbed.explain.contract import NodeWait
from testbed.explain.graph import circle_in, ends_of


def _waits(*edges: str) -> list[NodeWait]:
    return [NodeWait(edge[0], f"what {edge[1]} has", edge[1]) for edge in edges]


def test_the_shortest_circle_is_found() -> None:
    waits = _waits("ab", "bc", "cd", "da", "cb")
    assert [wait.node for wait in circle_in(waits, ["a"])] == ["b", "c"]


def test_a_circle_that_no_stalled_worker_leads_to_does_not_count() -> None:
    waits = _waits("ab", "xy", "yx")
    assert circle_in(waits, ["a"]) == []
    assert ends_of(waits, ["a"]) == ["b"]


def test_a_node_that_waits_for_its_own_timer_ends_the_waiting() -> None:
    waits = [*_waits("ab"), NodeWait("b", "its start", "b", 5)]
    assert circle_in(waits, ["a"]) == []
    assert ends_of(waits, ["a"]) == ["b"]
