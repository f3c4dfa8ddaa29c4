"""From a scenario to a plan, its table and its picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.drawing import draw_svg
from testbed.drawing.load_table import format_bps, load_table
from testbed.drawing.routes import picture_of_plan
from testbed.plan.gradient_routes import plan_scenario, problem_of
from testbed.scenario import Scenario, dump_scenario, load_scenario, parse_scenario
from testbed.scenario.protocols.names import PLANNERS
from topologies.routing.gradients import PLANNERS as KNOWN
from workloads.errors import InternalError, ScenarioError


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario("grid-triangle")


def test_the_words_are_the_planners() -> None:
    assert list(PLANNERS) == list(KNOWN)


def test_the_problem_of_a_scenario(scenario: Scenario) -> None:
    problem = problem_of(scenario)
    assert problem.workers == tuple(f"w{number}" for number in range(1, 9))
    assert problem.servers == ("ps",)
    assert problem.capacities == (("s1", 9e7), ("s2", 9e7), ("s3", 9e7))
    assert dict(problem_of(scenario, {"s2": 6e7}).capacities) == {"s1": 9e7, "s2": 6e7, "s3": 9e7}
    assert dict(problem_of(scenario, 6e7).capacities) == {"s1": 6e7, "s2": 6e7, "s3": 6e7}
    assert scenario.routing is not None
    changed = replace(scenario, routing=replace(scenario.routing, workers=("w8", "w2"), capacities=(("s3", 1),)))
    assert problem_of(changed).workers == ("w8", "w2")
    assert problem_of(changed).capacity_bps("s3") == 1


def test_a_routing_section_survives_being_written() -> None:
    text = (
        "name: x\ntopology: {kind: grid_triangle, server_link: {rate: 300Mbps, delay: 1ms}, links: {s1-s2: {rate: "
        "1Mbps}}}\n"
        "switch: {program: forward}\njob: {protocol: ring}\n"
        "routing: {servers: [ps, w8], planner: inart, workers: [w2, w1], capacity: 1Gbps, capacities: {s2: 0}, demand: "
        "3Mbps, "
        "mode: paced, pace: 0.98, on_collision: to_ps, bucket: 20ms, react: 7ms, sample: 1ms}\n"
    )
    scenario = parse_scenario(text, "x.yaml")
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario


def _said(scenario: Scenario, planner: str | None = None, capacities: float | None = None) -> str:
    with pytest.raises(ScenarioError) as caught:
        plan_scenario(scenario, planner, capacities)
    return str(caught.value)


def test_what_binds_is_said(scenario: Scenario) -> None:
    place = "playbooks/scenarios/grid/grid-triangle.yaml: routing"
    assert _said(scenario, capacities=0.0) == (
        f"{place}: no plan: no switch can aggregate anything, all have capacity 0: s1, s2, s3; found binding: s1, s2, "
        "s3"
    ).replace(": s1, s2, s3; found", "; found")
    assert scenario.routing is not None
    hungry = replace(scenario, routing=replace(scenario.routing, demand_bps=100_000_000))
    assert _said(hungry) == (
        f"{place}: no plan: a demand of 1e+08 bit/s is above the 9e+07 that the servers' links take; found binding: "
        "s3->ps"
    )
    some = replace(scenario, routing=replace(scenario.routing, demand_bps=29_000_000))
    assert _said(some, "atp") == (
        f"{place}: no plan: atp gives 2.4375e+07 bit/s to the slowest worker, the demand is 2.9e+07; found binding: "
        "s1->s3, s1"
    )


def test_mistakes_of_a_caller(scenario: Scenario) -> None:
    assert _said(scenario, "gird").startswith("--planner: unknown planner; found 'gird'; allowed: shortest, geryon")
    assert _said(load_scenario("ring")) == (
        "playbooks/scenarios/ring.yaml: routing: nothing says who the parameter servers are; "
        "allowed: a section, as routing: {servers: [ps], capacity: 90Mbps}"
    )
    assert scenario.routing is not None
    two = replace(scenario, routing=replace(scenario.routing, servers=("ps", "w8")))
    assert _said(two) == "playbooks/scenarios/grid/grid-triangle.yaml: routing.planner: planner grid knows one server"
    with pytest.raises(ScenarioError, match="--switch-capacity: no such switch; found 's9'; allowed: s1, s2, s3"):
        problem_of(scenario, {"s9": 1.0})


def test_a_plan_that_does_not_hold_is_our_fault(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    import topologies.routing.gradients.planners as planners

    monkeypatch.setattr(planners, "violations", lambda plan: ("s1: load 2 above capacity 1",))
    with pytest.raises(InternalError, match="planner geryon: s1: load 2 above capacity 1"):
        plan_scenario(scenario, "geryon")


def test_the_load_table(scenario: Scenario) -> None:
    lines = list(load_table(plan_scenario(scenario)))
    assert lines[:7] == [
        "planner grid: slowest worker 30Mbps (exact)",
        "bound 30Mbps (linear program), reached to 100.00%; it is limited by w1->s1",
        "",
        "  w1, w2, w3: 30Mbps summed at s1 via s1",
        "  w4: 30Mbps summed at s2 via s1-s2",
        "  w5, w6: 30Mbps summed at s2 via s2",
        "  w7, w8: 30Mbps summed at s3 via s3",
    ]
    assert "  s3->ps      90Mbps  90Mbps   100%" in lines
    assert lines[-1] == "  s3          60Mbps  90Mbps    67%"


def test_a_table_of_several_servers() -> None:
    text = (
        "name: x\ntopology: {kind: rack, hosts: 4}\nswitch: {program: forward}\njob: {protocol: ring}\n"
        "routing: {servers: [h3, h4], planner: inart, capacity: 150Mbps}\n"
    )
    lines = list(load_table(plan_scenario(parse_scenario(text, "x.yaml"))))
    assert lines[-1].startswith("shares of the servers: h3 ")
    assert any("summed at s1 for h3" in line or "unaggregated for h3" in line for line in lines)


def test_the_picture_says_loads_and_what_is_full(scenario: Scenario) -> None:
    picture = picture_of_plan(scenario, plan_scenario(scenario, "atp"))
    labels = {(line.a, line.b): line.label for line in picture.lines}
    assert labels["s1", "s3"] == "30Mbps full"
    assert labels["w1", "s1"] == "24.375Mbps"
    details = {point.name: point.detail for point in picture.points}
    assert details["s3"] == "sums 67.5Mbps"
    assert details["w1"] == "to s1 +1"
    assert details["ps"] == "server"
    assert "grid-triangle: atp, slowest worker 24.375Mbps" in draw_svg(picture)


@pytest.mark.parametrize(
    ("rate", "text"), [(0, "0bps"), (999, "999bps"), (2437500, "2.4375Mbps"), (3e9, "3Gbps"), (1234.0, "1.234kbps")]
)
def test_rates_for_people(rate: float, text: str) -> None:
    assert format_bps(rate) == text
