"""Drawn DLCP jobs can be written to a file, must end in time, and hold what hunts are for."""

from __future__ import annotations

from random import Random

from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.survival_datagrams import excused, may_fail, must_end_ns, unsurvivable
from testbed.plan import make_plan
from testbed.protocols.dlcp.hunt import draw_dlcp_schedule, smaller_dlcp
from testbed.scenario import dump_scenario, parse_scenario
from tests.support.drawn import Drawn

DLCP = PROTOCOLS["dlcp"]
MANY = Drawn(150, lambda seed: draw_dlcp_schedule(Random(seed), DLCP, None, "forward", traced=False, seed=1))


def test_every_schedule_is_a_file() -> None:
    for scenario in MANY[:60]:
        assert parse_scenario(dump_scenario(scenario), "drawn") == scenario


def test_what_is_simpler_is_a_file_too() -> None:
    for scenario in MANY[:8]:
        for smaller in smaller_dlcp(scenario, DLCP):
            assert parse_scenario(dump_scenario(smaller), "drawn").jobs == smaller.jobs


def test_every_schedule_must_end_in_time() -> None:
    for scenario in MANY:
        plan = make_plan(scenario)
        if excused(plan) < {worker.name for worker in plan.workers}:
            assert scenario.time_limit_ns == must_end_ns(scenario)
            assert unsurvivable(scenario) is None


def test_sums_that_are_clamped_end_nothing() -> None:
    clamped = [scenario for scenario in MANY if {job.dtype for job in scenario.jobs} == {"int32sat"}]
    assert clamped
    assert {may_fail(scenario) for scenario in clamped} <= {None, "a node is killed"}


def test_bounds_tiers_and_jobs_are_drawn() -> None:
    assert {scenario.job.own.loss_bound for scenario in MANY} >= {0.0, 0.25, 0.5, 0.9}
    assert {scenario.job.own.important for scenario in MANY} == {0.0, 0.25, 0.5, 1.0}
    drawn = {(scenario.job.own.over, scenario.switch.program) for scenario in MANY}
    assert drawn == {("ps", "forward"), ("ring", "forward"), ("ina", "dlcp")}
    assert {scenario.topology.kind for scenario in MANY} == {"rack", "spine_leaf"}
    assert {scenario.topology.multipath for scenario in MANY} == {"flow", "spray"}
    assert {len(scenario.jobs) for scenario in MANY} == {1, 2}
