"""Schedules of GRID shrink to what a failure needs, and end."""

from __future__ import annotations

from itertools import islice

import pytest

from testbed.hunt.draw import draw_schedule
from testbed.hunt.judge import run_and_judge
from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.shrink import shrink, simpler
from testbed.plan import make_plan
from testbed.protocols.grid.hunt_smaller import smaller_grid
from testbed.scenario import dump_scenario, parse_scenario
from tests.support.grid_planted import GRID_PLANTED
from tests.testbed.protocols.grid.test_hunt_survival import SPINES, calm
from workloads.errors import ScenarioError

GRID = "grid"


def drawn(number):
    return draw_schedule(2, number, None, GRID, GRID).scenario


def test_every_step_is_another_scenario_and_no_chain_of_steps_comes_back():
    for number in range(2):
        scenario = drawn(number)
        assert scenario not in list(simpler(scenario))
    seen, scenario = [], drawn(7)
    while (following := next(simpler(scenario), None)) is not None:
        assert following not in seen
        seen.append(following)
        scenario = following
    assert len(seen) < 100


def test_nearly_every_step_loads_and_plans():
    """The others ask for what a file may not say, or for what no plan reaches, and are passed over."""
    good = bad = 0
    for number in range(2):
        for candidate in islice(simpler(drawn(number)), number, None, 7):
            try:
                good += parse_scenario(dump_scenario(candidate), "x") == candidate
                assert make_plan(candidate).workers
            except ScenarioError:
                bad += 1
    assert good > 12
    assert bad < good // 4


@pytest.mark.parametrize("kind", ["rack", "spine_leaf", "custom"])
def test_a_worker_less_takes_its_link_and_what_is_about_it_along(kind):
    scenario = next(one for one in map(drawn, range(60)) if one.topology.kind == kind and len(one.job.hosts) > 3)
    smaller = [
        one for one in smaller_grid(scenario, PROTOCOLS["grid"]) if len(one.job.hosts) == len(scenario.job.hosts) - 1
    ]
    assert smaller
    for one in smaller:
        hosts = {node.name for node in one.topology.hosts}
        assert hosts == {*one.job.hosts, one.job.server}
        assert one.routing.servers == (one.job.server,)
        assert len(one.topology.links) == len(scenario.topology.links) - 1
        assert len(one.topology.switches) == len(scenario.topology.switches)


def test_several_switches_become_one():
    scenario = calm(topology=SPINES)
    racks = [one for one in smaller_grid(scenario, PROTOCOLS["grid"]) if one.topology.kind == "rack"]
    (alone,) = [one for one in racks if one.seed == scenario.seed]
    assert [node.name for node in alone.topology.switches] == ["s1"]
    assert alone.routing.capacities == ()
    assert make_plan(alone).workers


def test_a_planted_bug_shrinks_to_a_small_job():
    machines = GRID_PLANTED["partial merged twice"]
    scenario = next(one for one in map(drawn, range(20)) if _fails(one, machines))
    shrunk = shrink(scenario, lambda candidate: _fails(candidate, machines), most=150)
    small = shrunk.scenario
    assert len(small.faults) <= 2
    assert len(small.job.hosts) <= 3
    assert small.job.size_bytes <= scenario.job.size_bytes
    assert _fails(small, machines)


def _fails(scenario, machines):
    try:
        failure, _ = run_and_judge(scenario, machines)
    except ScenarioError:
        return False
    return failure is not None and failure.check == "bit_exact"
