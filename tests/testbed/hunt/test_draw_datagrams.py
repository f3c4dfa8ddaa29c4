"""Drawn schedules of datagram protocols: what they span, that they load, and that each ends by construction."""

from __future__ import annotations

from collections import Counter

import pytest

from testbed.faults.healing import heals_at, kind_of
from testbed.faults.model import Drop, Kill, NodeFault, PacketFault
from testbed.hunt.draw import TRACE_EVERY, draw_schedule
from testbed.hunt.expected import excused, may_fail, unsurvivable
from testbed.hunt.kinds import DatagramHunt
from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.survival_datagrams import LOSES, copies_of, must_end_ns, window_of
from testbed.plan import make_plan
from testbed.scenario import dump_scenario, load_scenario, parse_scenario
from tests.support.drawn import Drawn
from topologies import DIRECTIONS

KINDS = [kind for kind, hunted in PROTOCOLS.items() if type(hunted.hunt) is DatagramHunt]
"""the others have tests of their own: `test_draw_pairs`, and `test_hunt` in the folder of a protocol"""
MANY = {
    kind: Drawn(400, lambda number, kind=kind: draw_schedule(5, number, None, kind, kind).scenario) for kind in KINDS
}
EACH = pytest.mark.parametrize("kind", KINDS)


def jobs_of(kind):
    return [(scenario, job) for scenario in MANY[kind] for job in scenario.jobs]


@EACH
def test_a_schedule_follows_from_kind_seed_and_number_alone(kind):
    assert draw_schedule(5, 17, None, kind, kind).scenario == MANY[kind][17]
    assert draw_schedule(6, 17, None, kind, kind).scenario != MANY[kind][17]
    assert [scenario.trace for scenario in MANY[kind]] == [number % TRACE_EVERY == 0 for number in range(400)]
    assert MANY["atp"][3].topology != MANY["esa"][3].topology or MANY["atp"][3].faults != MANY["esa"][3].faults


@EACH
def test_jobs_workers_windows_and_memories(kind):
    many, jobs = MANY[kind], jobs_of(kind)
    assert {len(one.jobs) for one in many} == {1, 2, 3, 4}
    assert {len(job.hosts) for _, job in jobs} == {1, 2, 3, 4}
    assert {job.dtype for _, job in jobs} == set(PROTOCOLS[kind].dtypes)
    assert {job.iterations for _, job in jobs} == {1, 2, 3}
    memories = {one.switch.memory for one in many}
    assert min(memories) <= 2
    assert max(memories) == 64
    windows = [window_of(*one) for one in jobs]
    assert max(windows) >= 8
    assert sum(window > 1 for window in windows) > len(windows) // 2
    assert any(job.arrival_ns for _, job in jobs)
    assert any(job.straggle_rank for _, job in jobs)


@EACH
def test_some_gradients_are_extreme_and_all_that_saturate(kind):
    drawn = {(job.dtype, job.workload) for _, job in jobs_of(kind)}
    plain = {(dtype, workload) for dtype in ("float32", "int32") for workload in ("synthetic", "extreme")}
    assert drawn == plain | ({("int32sat", "extreme")} if PROTOCOLS[kind].server else set())


@EACH
def test_the_window_is_the_one_of_the_plan(kind):
    for scenario in MANY[kind][:100]:
        plan = make_plan(scenario)
        for job, group in zip(scenario.jobs, plan.groups.values(), strict=True):
            assert {worker.window for worker in group} == {window_of(scenario, job)}


@pytest.mark.parametrize("kind", ["atp", "esa", "switchml"])
def test_two_levels_are_drawn(kind):
    levels = Counter(len(one.topology.switches) > 1 for one in MANY[kind])
    assert levels[True] > 60
    told = Counter(PROTOCOLS[kind].hunt.values(one, PROTOCOLS[kind])["levels"] for one in MANY[kind])
    assert told == {"one": levels[False], "two": levels[True]}
    plans = [make_plan(one) for one in MANY[kind] if len(one.topology.switches) > 1]
    assert any(job.levels is not None for plan in plans for switch in plan.switches for job in switch.jobs)


@pytest.mark.parametrize("kind", ["atp", "esa"])
def test_servers_stand_anywhere(kind):
    assert {len({job.server for job in one.jobs}) for one in MANY[kind]} == {1, 2, 3, 4}
    assert {one.transport.aimd for one in MANY[kind]} == {True, False}


def test_knobs_and_priorities_of_esa():
    knobs = [one.switch.knobs for one in MANY["esa"]]
    assert {each.free for each in knobs} == {"early", "ack"}
    assert {each.age for each in knobs} == {"none", "minus1", "shift1"}
    assert all(each.reminder for each in knobs if each.free == "early")
    assert len({job.priority for _, job in jobs_of("esa")}) == 6
    assert sum(all(job.priority == "equal" for job in one.jobs) for one in MANY["esa"]) > 40


@EACH
def test_every_kind_of_fault_on_every_part_both_ways(kind):
    faults = [fault for one in MANY[kind] for fault in one.faults]
    assert {kind_of(fault) for fault in faults} == {
        "loss", "burst", "drop", "duplicate", "reorder", "delay", "link_down", "rate_change", "pause", "kill",
    }  # fmt: skip
    assert {way for fault in faults if isinstance(fault, PacketFault) for way in fault.directions} == set(DIRECTIONS)
    assert len({(type(fault), fault.node[0]) for fault in faults if isinstance(fault, NodeFault)}) >= 4
    assert {fault.match.attempt for fault in faults if isinstance(fault, PacketFault)} == {None, 1, 2, 3}
    assert max(map(copies_of, MANY[kind])) <= 10


@EACH
def test_every_schedule_is_a_file(kind):
    for scenario in MANY[kind][:80]:
        assert parse_scenario(dump_scenario(scenario), "drawn") == scenario


@EACH
def test_every_schedule_must_end_in_time_and_all_trouble_does(kind):
    assert Counter(map(may_fail, MANY[kind]))[None] > 280
    for scenario in MANY[kind]:
        plan = make_plan(scenario)
        if excused(plan) < {worker.name for worker in plan.workers}:
            assert scenario.time_limit_ns == must_end_ns(scenario)
            assert unsurvivable(scenario) is None
        for fault in scenario.faults:
            if isinstance(fault, LOSES) and fault.match.attempt is None:
                assert heals_at(fault) is not None


def test_a_hunt_in_a_scenario_draws_only_faults_and_seeds():
    base = load_scenario("switchml-two-jobs", [], world="simulated")
    drawn = [draw_schedule(1, number, base).scenario for number in range(40)]
    assert all((one.job, one.topology, one.switch) == (base.job, base.topology, base.switch) for one in drawn)
    assert len({one.faults for one in drawn}) > 35
    assert all(may_fail(one) or unsurvivable(one) is None for one in drawn)
    assert any(isinstance(fault, Kill) for one in drawn for fault in one.faults)


def test_nobody_waits_for_the_dead_for_hours():
    """Number 40,317 had a worker killed for good beside a gradient of 1 MB whose packets are all dropped once: the
    others of its job would have sent again 2.8 million times each."""
    scenario = draw_schedule(1, 40_317, None, "ps", "ps").scenario
    assert [type(fault) for fault in scenario.faults] == [Drop]
    assert scenario.time_limit_ns > 50_000 * scenario.transport.rto_ns
    kept = [one for one in MANY["atp"] if any(isinstance(fault, Kill) for fault in one.faults)]
    waits = [one.time_limit_ns / one.transport.rto_ns for one in kept if excused(make_plan(one))]
    assert 1_000 < max(waits) <= 50_000
