"""What histories hold, checked against what events say of themselves."""

from __future__ import annotations

import importlib
import json
import pkgutil
from typing import Any

import pytest

import switch_nodes
import testbed.faults
import testbed.kernel
import testbed.steering
import testbed.worlds
import workloads
from testbed.history.eventkinds import event_kinds, record_problem
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from workloads.machine import Event

COMPLETED = {
    "t": 5, "node": "h1", "event": "BlockSummed", "job": 1, "block": 2, "slot": 3, "contributions": [1, 1],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("rack-lossy", ["trace=true", "job.size=20kB", "job.iterations=1"]),
        ("esa-lossy", ["trace=true", "job.size=20kB", "job.iterations=1"]),
        ("congested", ["job.size=60kB"]),
        ("hierarchical", ["job.size=20kB"]),
        ("switch-restarted", ["job.size=20kB"]),
    ],
)
def test_every_record_of_a_run_is_one(name: str, overrides: list[str]) -> None:
    plan = make_plan(load_scenario(name, overrides, world="simulated"))
    history = json.loads(json.dumps(simulate(plan)))
    assert {problem for record in history if (problem := record_problem(record))} == set()
    assert {record["event"] for record in history} <= event_kinds().keys()


def test_every_event_of_machines_worlds_and_faults_is_known() -> None:
    for package in (workloads, switch_nodes, testbed.worlds, testbed.faults, testbed.steering):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "events" in module.name or "blocks" in module.name:
                importlib.import_module(module.name)
    ours = ("workloads.", "switch_nodes.", "testbed.worlds.", "testbed.faults.", "testbed.steering.")
    defined = {kind.__name__ for kind in Event.__subclasses__() if kind.__module__.startswith(ours)}
    assert len(defined) > 40
    # A user's program file, and what other tests make, are elsewhere.
    assert defined <= event_kinds().keys()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"event": "OfAUser", "block": None}, None),
        ({"more": 1}, None),
        ({"t": 1.5}, "t: 1.5, not a whole number"),
        ({"node": 7}, "node: 7, not text"),
        ({"event": ["x"]}, "event: ['x'], not text"),
        ({"block": None}, "block of BlockSummed: None, not a whole number"),
        ({"block": True}, "block of BlockSummed: True, not a whole number"),
        ({"job": "x"}, "job of BlockSummed: 'x', not a whole number"),
        ({"job": "x" * 50}, f"job of BlockSummed: '{'x' * 36}..., not a whole number"),
        ({"contributions": 3}, "contributions of BlockSummed: 3, not a list (a whole number)"),
        ({"contributions": [1, "1"]}, "contributions of BlockSummed: [1, '1'], not a list (a whole number)"),
        ({"event": "SwitchStatistics"}, "SwitchStatistics without counters"),
        ({"event": "SwitchStatistics", "counters": {"a": None}}, "counters of SwitchStatistics: {'a': None}, not a mapping (a whole number)"),
    ],
)  # fmt: skip
def test_what_is_no_record_is_told(change: dict[str, Any], problem: str | None) -> None:
    assert record_problem({**COMPLETED, **change}) == problem


@pytest.mark.parametrize("value", [[1, 2], 3, None, "x", {}, {"t": 1, "node": "h1"}])
def test_neither_is_anything_else(value: Any) -> None:
    assert record_problem(value) == "no t, node and event"


def test_a_field_that_is_told_sometimes_may_be_absent_but_not_be_anything() -> None:
    posted = {"t": 0, "node": "h1", "event": "MessagePosted", "message": 0, "received": 0, "acked": 0}
    assert record_problem(posted) is None
    assert record_problem({**posted, "phase": "scatter"}) is None
    assert record_problem({**posted, "phase": 1}) == "phase of MessagePosted: 1, not text"
