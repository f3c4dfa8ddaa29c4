"""A schedule's plan is made once for each form of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.hunt import plans
from testbed.hunt.draw import draw_schedule
from testbed.hunt.hunt import prepare
from testbed.hunt.judge import judge_schedule
from testbed.hunt.survival import travel_ns
from testbed.hunt.survival_datagrams import all_must_finish
from testbed.plan import Plan, make_plan
from testbed.plan.timers import Timers
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from workloads.errors import ScenarioError
from workloads.rc.recovery import rto_ns


@pytest.mark.parametrize("kind", ["grid", "atp"])
def test_no_scenario_is_planned_twice(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    asked: list[Scenario] = []

    def counted(scenario: Scenario, *, explained: bool) -> Plan:
        asked.append(scenario)
        return make_plan(scenario, explained=explained)

    monkeypatch.setattr(plans, "make_plan", counted)
    for number in range(3):
        failure, _ = judge_schedule(draw_schedule(7, number, program=kind, kind=kind))
        assert failure is None
    assert len(asked) >= 3
    assert all(scenario.transport.rto_ns for scenario in asked), "no timer is worked out, since all are drawn"
    assert [scenario for at, scenario in enumerate(asked) if any(scenario is other for other in asked[:at])] == []


@pytest.mark.parametrize("operation", ["all_reduce", "all_gather", "all_to_all", "reduce_scatter", "broadcast", "send"])
def test_a_small_job_is_hunted_in_with_its_own_timers(operation: str) -> None:
    keys = {"protocol": "mesh", "operation": operation, "size": "20kB"}
    changes = ["topology.hosts=4", "switch.program=forward", *(f"job.{key}={value}" for key, value in keys.items())]
    prepare("rack-lossy", changes, seed=1, schedules=1)
    base = plans.with_timers(load_scenario("rack-lossy", changes, world="simulated"))
    assert (rto_ns(base.transport.timeout_code or 0) or 0) >= travel_ns(base)


def test_a_timer_that_a_user_gives_stays_and_may_be_refused() -> None:
    changes = ["switch.program=forward", "job.protocol=mesh", "job.operation=all_to_all", "job.size=20kB"]
    with pytest.raises(ScenarioError, match="cannot be hunted in"):
        prepare("rack-lossy", [*changes, "transport.timeout=8"], seed=1, schedules=1)


def test_a_schedule_that_all_must_finish_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(plans, "make_plan", lambda scenario, **how: asked.append("") or make_plan(scenario, **how))
    counts = list[int]()
    for number in range(1, 8):  # no traced one, which runs twice
        asked.clear()
        scenario = draw_schedule(7, number, program="switchml", kind="switchml").scenario
        plans.plan_of(scenario)
        counts.append(len(asked) - (not all_must_finish(scenario)))
    assert counts == [1] * 7


def test_a_plan_of_a_hunt_is_the_plan_but_for_what_its_timers_follow_from() -> None:
    for kind in ("rack", "switchml", "grid"):
        scenario = draw_schedule(7, 1, program="netreduce" if kind == "rack" else kind, kind=kind).scenario
        assert plans.plan_of(scenario) == replace(make_plan(scenario), timers=Timers())


def test_a_plan_of_a_hunt_chooses_the_timers_that_are_auto() -> None:
    auto = load_scenario("irn-lossy", (), world="simulated")
    assert plans.plan_of(auto) == make_plan(auto)
    assert plans.plan_of(auto).scenario.transport.rto_low_ns is not None
