"""Drawn schedules of GRID: what they span, that they load and have a plan, and that each ends by construction."""

from __future__ import annotations

from collections import Counter

import pytest

from testbed.faults.healing import heals_at, kind_of
from testbed.faults.model import Kill, LinkDown, PacketFault
from testbed.hunt.draw import TRACE_EVERY, draw_schedule
from testbed.hunt.expected import excused, may_fail, unsurvivable
from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.survival_datagrams import copies_of, window_of
from testbed.plan import make_plan
from testbed.protocols.grid.hunt_survival import must_end_ns
from testbed.scenario import dump_scenario, load_scenario, parse_scenario
from tests.support.drawn import Drawn
from topologies import DIRECTIONS

GRID = "grid"

MANY = Drawn(130, lambda number: draw_schedule(5, number, None, GRID, GRID).scenario)


def test_a_schedule_follows_from_seed_and_number_alone():
    assert draw_schedule(5, 17, None, GRID, GRID).scenario == MANY[17]
    assert draw_schedule(6, 17, None, GRID, GRID).scenario != MANY[17]
    assert [one.trace for one in MANY] == [number % TRACE_EVERY == 0 for number in range(130)]


def test_networks_jobs_and_memories():
    kinds = Counter(one.topology.kind for one in MANY)
    assert set(kinds) == {"rack", "spine_leaf", "custom"}
    assert min(kinds.values()) > 15
    assert {len(one.job.hosts) for one in MANY} == {2, 3, 4, 5, 6, 7, 8}
    assert {one.job.dtype for one in MANY} == set(PROTOCOLS[GRID].dtypes)
    assert {one.job.iterations for one in MANY} == {1, 2, 3}
    assert {one.switch.memory for one in MANY} == {1, 2, 3, 4, 8, 64}
    assert {one.transport.path_mtu for one in MANY} == {256, 512, 1024, 8192}
    assert max(window_of(one, one.job) for one in MANY) >= 8
    assert any(one.job.straggle_rank is not None for one in MANY)
    assert any(one.job.server != one.topology.hosts[-1].name for one in MANY)


def test_planners_and_their_limits():
    routings = [one.routing for one in MANY if one.routing is not None]
    planners = Counter(routing.planner for routing in routings)
    assert set(planners) >= {"grid", "grid-lp", "atp", "atp-unmerged", "switchml", "geryon", "shortest", "multipath"}
    assert {routing.mode for routing in routings} == {"aimd", "paced"}
    assert {routing.pace for routing in routings} >= {0.5, 1.0, 1.5}
    assert {routing.on_collision for routing in routings} == {"drop", "to_ps"}
    assert len({routing.bucket_ns for routing in routings}) == 4
    assert any(0 in dict(routing.capacities).values() for routing in routings)
    assert {one.switch.commodity for one in MANY} == {"soft", "openflow"}
    assert min(routing.react_ns for routing in routings) == 1
    split = [make_plan(one) for one in MANY[:25]]
    assert any(len(shares) > 1 for plan in split for shares in plan.workers[0].orders[0].shares)


def test_every_kind_of_fault_both_ways_and_new_plans():
    faults = [fault for one in MANY for fault in one.faults]
    assert {kind_of(fault) for fault in faults} == {
        "loss", "burst", "drop", "duplicate", "reorder", "delay", "link_down", "rate_change", "pause", "kill",
    }  # fmt: skip
    assert {way for fault in faults if isinstance(fault, PacketFault) for way in fault.directions} == set(DIRECTIONS)
    assert max(map(copies_of, MANY)) <= 10
    killed = {("switch" if each.node in [s.name for s in one.topology.switches] else
               "server" if each.node == one.job.server else "worker", heals_at(each) is None)
              for one in MANY for each in one.faults if isinstance(each, Kill)}  # fmt: skip
    assert killed >= {("switch", False), ("server", False)}
    assert {who for who, _ in killed} == {"switch", "server", "worker"}
    assert any(for_good for _, for_good in killed)
    gone = [one for one in MANY if any(isinstance(f, LinkDown) and heals_at(f) is None for f in one.faults)]
    assert any(may_fail(one) is None for one in gone), "there is a way around"
    flapping = [one for one in MANY if any(isinstance(f, LinkDown) and f.count == 2 for f in one.faults)]
    assert max(len(make_plan(one).routing) for one in flapping) >= 3


def test_every_schedule_is_a_file():
    for scenario in MANY[:40]:
        assert parse_scenario(dump_scenario(scenario), "drawn") == scenario


def test_every_schedule_must_end_in_time_and_all_trouble_does():
    assert Counter(map(may_fail, MANY))[None] > 85
    for scenario in MANY[:60]:
        if not excused(make_plan(scenario)):
            assert scenario.time_limit_ns == must_end_ns(scenario)
            assert unsurvivable(scenario) is None


@pytest.mark.parametrize("name", ["grid", "grid-link-down"])
def test_a_hunt_in_a_scenario_draws_only_faults_and_seeds(name):
    base = load_scenario(name, ["job.size=20kB"], world="simulated")
    drawn = [draw_schedule(1, number, base).scenario for number in range(12)]
    assert all((one.job, one.topology, one.switch, one.routing) == (base.job, base.topology, base.switch, base.routing)
               for one in drawn)  # fmt: skip
    assert len({one.faults for one in drawn}) > 8
    assert all(may_fail(one) or unsurvivable(one) is None for one in drawn)
