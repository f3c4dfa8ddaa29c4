"""Jobs along a plan of gradient routes, judged by the stock checkers: lossless, lossy, and across failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from switch_nodes.events import PlanInstalled, SwitchStatistics
from testbed.checkers import CheckContext, run_checks
from testbed.faults.model import Duplicate, Fault, LinkDown, Loss, Window
from testbed.figures.metrics import metrics
from testbed.history import Record
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from testbed.worlds.simulated.world import simulate
from topologies import Direction
from workloads.datagrams.blocks import JobResumed, ServerStatistics

MS = 1_000_000


def scenario(name: str = "grid", *faults: Fault, **job: Any) -> Scenario:
    loaded = load_scenario(name)
    job = {"size_bytes": 120_000} | job
    return replace(loaded, job=replace(loaded.job, **job), faults=faults or loaded.faults, capture=False)


def judged(chosen: Scenario) -> tuple[CheckContext, list[Record]]:
    plan = make_plan(chosen)
    history = simulate(plan)
    context = CheckContext(plan, history, ())
    for check in run_checks(context).results:
        assert check.verdict is Verdict.PASS, check
    return context, history


def counters(history: list[Record], switch: str) -> dict[str, int]:
    (found,) = [r.event.counters for r in history if isinstance(r.event, SwitchStatistics) and r.node == switch]
    return dict(found)


def test_gradients_meet_where_the_plan_says() -> None:
    """W4's are never added at its own switch."""
    _, history = judged(scenario())
    added = {name: {key for key in counters(history, name) if key.startswith("added_")} for name in ("s1", "s2", "s3")}
    assert added == {
        "s1": {"added_0", "added_1", "added_2"},
        "s2": {"added_3", "added_4", "added_5"},
        "s3": {"added_6", "added_7"},
    }
    (server,) = [record for record in history if isinstance(record.event, ServerStatistics)]
    assert set(server.event.packets_in) - {"resend"} == {"partial"}, "three sums of each block"


@pytest.mark.parametrize("on_collision", ["drop", "to_ps"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_sums_are_exact_under_loss_with_few_slots(on_collision: str, dtype: str) -> None:
    links = tuple(link.name for link in load_scenario("grid").topology.links)
    chosen = scenario("grid", Loss("loss", links, rate=0.01), dtype=dtype, size_bytes=60_000)
    assert chosen.routing is not None
    chosen = replace(
        chosen, switch=replace(chosen.switch, memory=8), routing=replace(chosen.routing, on_collision=on_collision)
    )
    _, history = judged(chosen)
    met = Counter(record.name for record in history)
    assert met["Collided"] if on_collision == "to_ps" else counters(history, "s1")["turned_away"]


@pytest.mark.parametrize("late_ns", [0, 50 * MS])
def test_copies_leave_nothing_behind_that_counts(late_ns: int) -> None:
    links = tuple(link.name for link in load_scenario("grid").topology.links)
    copies = Duplicate("d", links, (Direction.UP,), rate=0.3, delay_ns=late_ns)
    _, history = judged(scenario("grid", copies, iterations=1))
    if late_ns:
        assert sum(counters(history, name)["ghosts_at_end"] for name in ("s1", "s2", "s3"))


def test_without_aggregation_the_server_gets_everything_one_by_one() -> None:
    _, history = judged(scenario("grid-geryon"))
    (server,) = [record for record in history if isinstance(record.event, ServerStatistics)]
    assert set(server.event.packets_in) == {"data"}


def test_scarce_capacity_lets_blocks_go_around_and_no_sum_is_wrong() -> None:
    chosen = scenario()
    assert chosen.routing is not None
    plan = make_plan(chosen)
    switches = tuple(
        replace(config, grid=replace(config.grid, capacity_bps=20e6)) if config.grid else config
        for config in plan.switches
    )
    plan = replace(plan, switches=switches)
    history = simulate(plan)
    for check in run_checks(CheckContext(plan, history, ())).results:
        assert check.verdict is Verdict.PASS, check
    assert counters(history, "s1")["bypassed"] > 0.3 * counters(history, "s1")["data_in"]


def test_a_link_that_dies_costs_time_and_no_gradient() -> None:
    cut = LinkDown("cut", ("s1-s3",), window=Window(60 * MS, None))
    chosen = scenario("grid-link-down", cut, size_bytes=700_000)
    context, history = judged(chosen)
    (change,) = metrics(context)["routing"]["replans"]
    assert (change["at_s"], change["installed_s"]) == (0.06, 0.11)
    assert change["recovered_s"] is not None
    assert change["first_sum_s"] <= change["recovered_s"] < 0.3
    assert change["measured_bps"] == pytest.approx(15e6, rel=0.1)
    assert len([record for record in history if isinstance(record.event, PlanInstalled)]) == 6
    assert [record.node for record in history if isinstance(record.event, JobResumed)] == ["ps"]


def test_a_link_that_flaps_is_planned_around_each_time() -> None:
    flap = LinkDown("flap", ("s1-s2",), window=Window(30 * MS, 100 * MS), count=2, period_ns=150 * MS)
    context, _ = judged(scenario("grid-link-down", flap, size_bytes=900_000))
    assert [change["at_s"] for change in metrics(context)["routing"]["replans"]] == [0.03, 0.1, 0.18, 0.25]


def test_what_cannot_be_planned_around_is_told_and_waited_for() -> None:
    chosen = scenario("grid-link-down", size_bytes=120_000)
    (server,) = make_plan(chosen).servers
    (link,) = [link for link in chosen.topology.links if server.name in (link.a, link.b)]
    cut = LinkDown("cut", (link.name,), window=Window(30 * MS, 100 * MS))
    context, _ = judged(replace(chosen, faults=(cut,)))
    (told,) = metrics(context)["routing"]["unroutable"]
    assert told["at_s"] == 0.03
    assert "ps" in told["reason"]
    assert [change["at_s"] for change in metrics(context)["routing"]["replans"]] == [0.1]


def test_two_runs_of_one_plan_are_the_same() -> None:
    plan = make_plan(scenario("grid-lossy", size_bytes=40_000))
    assert simulate(plan) == simulate(plan)
