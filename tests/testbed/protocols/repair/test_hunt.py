"""Drawn repairs can be written to a file, must end in time, and hold what hunts are for."""

from __future__ import annotations

from random import Random

from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.survival_datagrams import excused, must_end_ns, unsurvivable
from testbed.plan import make_plan
from testbed.protocols.repair.hunt import draw_repair_schedule, smaller_repair
from testbed.scenario import dump_scenario, parse_scenario
from tests.support.drawn import Drawn

REPAIR = PROTOCOLS["repair"]
MANY = Drawn(150, lambda seed: draw_repair_schedule(Random(seed), REPAIR, None, "repair", traced=False, seed=1))


def test_every_schedule_is_a_file() -> None:
    for scenario in MANY[:60]:
        assert parse_scenario(dump_scenario(scenario), "drawn") == scenario


def test_what_is_simpler_is_a_file_too() -> None:
    for scenario in MANY[:8]:
        for smaller in smaller_repair(scenario, REPAIR):
            assert parse_scenario(dump_scenario(smaller), "drawn").jobs == smaller.jobs


def test_every_schedule_must_end_in_time() -> None:
    for scenario in MANY:
        plan = make_plan(scenario)
        if excused(plan) < {worker.name for worker in plan.workers}:
            assert scenario.time_limit_ns == must_end_ns(scenario)
            assert unsurvivable(scenario) is None


def test_all_codes_tiers_and_programs_are_drawn() -> None:
    assert {scenario.job.own.code for scenario in MANY} == {"rs", "msr", "mbr"}
    assert {scenario.job.own.combine for scenario in MANY} == {"xor", "gf256"}
    assert {scenario.switch.program for scenario in MANY} == {"repair", "forward"}
    assert {scenario.topology.kind for scenario in MANY} == {"rack", "spine_leaf"}
    assert {len(scenario.jobs) for scenario in MANY} == {1, 2}
