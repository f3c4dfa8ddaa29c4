"""What timers took of the job completion time."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.timers import timer_metrics
from testbed.history import Record, make_record
from testbed.runs.run import judge_scenario
from testbed.scenario import load_scenario
from tests.support.records import a_record
from workloads.events import DatagramResent, Retransmission
from workloads.machine import Event

MS = 1_000_000


def _context(*events: tuple[int, Event], nics: Iterable[tuple[str, str]] = ()) -> CheckContext:
    """The traffic starts at 100 ms; the job ends 100 ms later. `events`: when, and what."""
    history: list[Record] = [
        a_record(100 * MS, "world", "TrafficStarted"),
        a_record(200 * MS, "h1", "CollectiveCompleted", completed_ns=200 * MS),
        *(make_record(at, "h1", event) for at, event in events),
    ]
    plan = SimpleNamespace(scenario=SimpleNamespace(nics=tuple(nics)))
    return CheckContext(cast("object", plan), history)  # type: ignore[arg-type]


def _back(waited_ns: int | None, cause: str = "timeout") -> Event:
    return Retransmission(7, cause, 0, 1, waited_ns)


def _resent(waited_ns: int | None, cause: str = "timeout") -> Event:
    return DatagramResent(1, 0, 0, cause, 1, waited_ns)


@pytest.mark.parametrize(
    ("events", "seconds"),
    [
        ((), 0.0),
        (((150 * MS, _back(20 * MS)),), 0.020),
        (((150 * MS, _resent(20 * MS)), (180 * MS, _resent(5 * MS, "nack"))), 0.025),
        (((150 * MS, _back(20 * MS)), (160 * MS, _back(20 * MS))), 0.030),
        (((160 * MS, _back(20 * MS)), (150 * MS, _back(1 * MS))), 0.020),
        (((110 * MS, _back(50 * MS)),), 0.010),
        (((250 * MS, _back(60 * MS)),), 0.010),
        (((300 * MS, _back(60 * MS)),), 0.0),
        (((150 * MS, _back(None, "nak")), (160 * MS, _resent(30 * MS, "gap")), (170 * MS, _back(None, "rnr"))), 0.0),
    ],
    ids=["none", "one", "kinds", "overlapping", "inside", "before the start", "over the end", "behind", "no timers"],
)
def test_each_time_counts_once_and_inside_the_job(events: tuple[tuple[int, Event], ...], seconds: float) -> None:
    found = timer_metrics(_context(*events), 0.1)
    assert found["timers_s"] == pytest.approx(seconds)
    assert found["timers"] == pytest.approx(seconds / 0.1)


def test_what_is_not_reported_is_not_known() -> None:
    nothing = {"timers": None, "timers_s": None}
    assert timer_metrics(_context((150 * MS, _resent(None))), 0.1) == nothing
    assert timer_metrics(_context(nics=[("h1", "rxe0")]), 0.1) == nothing
    assert timer_metrics(_context(), None) == nothing


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("tail-lost", ()), ("irn-answer-lost", ()), ("repair-data-lost", ()), ("dlcp-data-lost", ()),
        ("ps-data-lost", ()), ("switchml-lossy", ("job.size=60kB",)), ("grid-lossy", ("job.size=100kB",)),
    ],
)  # fmt: skip
def test_every_kind_of_host_reports_how_long_it_waited(name: str, changes: tuple[str, ...]) -> None:
    scenario = load_scenario(name, ["capture=false", *changes], world="simulated")
    metrics = judge_scenario(scenario, "")["metrics"]
    assert metrics["jct"]["timers"] is not None
    assert 0 <= metrics["jct"]["timers"] <= 1


def test_a_lost_tail_costs_one_timer() -> None:
    """Nothing follows the last packet of the job, so that its whole timer is a stand-still."""
    result = judge_scenario(load_scenario("tail-lost", ["capture=false"], world="simulated"), "")
    timer_s = result["timers"][0]["each"]["timeout"]["ns"] / 1e9
    assert result["metrics"]["jct"]["timers_s"] == pytest.approx(timer_s)
    assert result["metrics"]["jct"]["timers"] == pytest.approx(timer_s / result["metrics"]["jct_s"])
