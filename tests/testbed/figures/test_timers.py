"""What timers took of the job completion time."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.timers import timer_metrics
from testbed.history import Record, make_record
from testbed.runs.run import judge_scenario
from testbed.scenario import load_scenario
from tests.support.records import a_record
from workloads.events import CollectiveStarted, DatagramResent, GradientComputed, Retransmission
from workloads.machine import Event

MS = 1_000_000


def _worker(name: str, *, arrival_ns: int = 0, computes: str = "") -> SimpleNamespace:
    compute = SimpleNamespace(in_stages=computes == "stages") if computes else None
    return SimpleNamespace(name=name, workload=SimpleNamespace(arrival_ns=arrival_ns, compute=compute))


def _context(
    *events: tuple[int, Event], nics: Iterable[tuple[str, str]] = (), computes: str = "", more: Iterable[Record] = ()
) -> CheckContext:
    """The traffic starts at 100 ms; the job of h1 and h2 ends 100 ms later. `events`: when, and what, of h1."""
    history: list[Record] = [
        a_record(100 * MS, "world", "TrafficStarted"),
        a_record(200 * MS, "h1", "CollectiveCompleted", completed_ns=200 * MS),
        *(make_record(at, "h1", event) for at, event in events),
        *more,
    ]
    groups = {1: (_worker("h1", computes=computes), _worker("h2", computes=computes))}
    return _of(history, [groups], nics)


def _of(
    history: list[Record], groups: Iterable[dict[int, tuple[SimpleNamespace, ...]]], nics: Iterable[tuple[str, str]]
) -> CheckContext:
    parts = tuple(SimpleNamespace(groups=each) for each in groups)
    plan = SimpleNamespace(scenario=SimpleNamespace(nics=tuple(nics)), parts=parts)
    return CheckContext(cast("object", plan), history)  # type: ignore[arg-type]


def _started(at: int, node: str, iteration: int = 0) -> Record:
    return make_record(at, node, CollectiveStarted(iteration, 4, 1))


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


@pytest.mark.parametrize(
    ("starts", "seconds"),
    [
        (((100, "h1"), (100, "h2")), 0.050),
        (((100, "h1"), (130, "h2")), 0.020),
        (((100, "h1"), (180, "h2")), 0.0),
        (((100, "h1"), (100, "h2"), (170, "h2", 1)), 0.050),
        (((100, "h1"), (100, "h2"), (120, "h1", 1), (140, "h2", 1)), 0.010),
    ],
    ids=["together", "late", "not before the wait ends", "a next iteration", "late in the second"],
)
def test_a_worker_that_starts_late_is_no_timer(starts: tuple[tuple[Any, ...], ...], seconds: float) -> None:
    """h1 waits from 100 to 150 ms."""
    started = [_started(at * MS, *rest) for at, *rest in starts]
    found = timer_metrics(_context((150 * MS, _back(50 * MS)), more=started), 0.1)
    assert found["timers_s"] == pytest.approx(seconds)


@pytest.mark.parametrize(("computes", "seconds"), [("layers", 0.020), ("stages", 0.050), ("", 0.050)])
def test_a_worker_that_still_computes_is_no_timer(computes: str, seconds: float) -> None:
    """Layers are computed whatever comes of their sums; a stage waits for the sum of the one before."""
    computed = GradientComputed(0, 100 * MS, 100 * MS, 130 * MS)
    more = [_started(100 * MS, "h1"), _started(100 * MS, "h2"), make_record(131 * MS, "h2", computed)]
    found = timer_metrics(_context((150 * MS, _back(50 * MS)), computes=computes, more=more), 0.1)
    assert found["timers_s"] == pytest.approx(seconds)


def test_of_several_jobs_the_means_count() -> None:
    """The first job waits 40 of 100 ms, the second one, which arrives 50 ms later, 10 of 60 ms."""
    history: list[Record] = [
        a_record(100 * MS, "world", "TrafficStarted"),
        make_record(150 * MS, "h1", _resent(40 * MS)),
        make_record(170 * MS, "h3", _resent(30 * MS)),
        make_record(170 * MS, "h3", _resent(10 * MS)),
        a_record(200 * MS, "h1", "CollectiveCompleted", completed_ns=200 * MS),
        a_record(210 * MS, "h3", "CollectiveCompleted", completed_ns=210 * MS),
    ]
    late = {7: (_worker("h3", arrival_ns=60 * MS),)}
    for groups in ([{1: (_worker("h1"),)}, late], [{1: (_worker("h1"),), **late}]):
        found = timer_metrics(_of(history, groups, ()), 0.11)
        assert found == {"timers": pytest.approx(50 / 150), "timers_s": pytest.approx(0.025)}


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


def test_a_straggler_is_no_timer() -> None:
    """Timers run out again and again while hosts wait for the worker that starts 300 ms late."""
    changes = ["capture=false", "transport.timeout=17", "transport.recovery=irn", "transport.rto_low=1ms"]
    result = judge_scenario(load_scenario("straggler", [*changes, "transport.rto_high=4ms"], world="simulated"), "")
    assert result["metrics"]["timeouts"] > 100
    assert result["metrics"]["jct"]["timers"] < 0.01


def test_a_lost_tail_costs_one_timer() -> None:
    """Nothing follows the last packet of the job, so that its whole timer is a stand-still."""
    result = judge_scenario(load_scenario("tail-lost", ["capture=false"], world="simulated"), "")
    timer_s = result["timers"][0]["each"]["timeout"]["ns"] / 1e9
    assert result["metrics"]["jct"]["timers_s"] == pytest.approx(timer_s)
    assert result["metrics"]["jct"]["timers"] == pytest.approx(timer_s / result["metrics"]["jct_s"])
