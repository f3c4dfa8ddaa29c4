"""Traces for Perfetto."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from testbed.report.timeline import Selection, build_timeline, select, timeline_trace
from testbed.scenario import load_scenario
from tests.support.parts import simulated


@pytest.fixture(scope="module", params=["data-last-lost", "atp-lossy"])
def events(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    run = simulated(load_scenario(request.param, world="simulated"))
    chosen = select(build_timeline(run.history), Selection())
    found: list[dict[str, Any]] = json.loads(timeline_trace(chosen))["traceEvents"]
    return found


def test_nodes_are_processes_and_every_event_is_in_a_named_thread(events: list[dict[str, Any]]) -> None:
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert {"job", "h1", "h2"} <= processes
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"} <= named
    assert {event["ph"] for event in events} == {"M", "X", "i"}


def test_spans_of_a_thread_do_not_overlap(events: list[dict[str, Any]]) -> None:
    threads = dict[int, list[dict[str, Any]]]()
    for event in events:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append(event)
    for spans in threads.values():
        for before, after in pairwise(sorted(spans, key=lambda span: span["ts"])):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-6


def test_times_are_microseconds(events: list[dict[str, Any]]) -> None:
    """The first iteration begins at 0 and lasts some milliseconds."""
    spans = [event for event in events if event["ph"] == "X" and event["name"].startswith("iteration 0")]
    assert spans[0]["ts"] == 0
    assert 1_000 < spans[0]["dur"] < 1_000_000
