"""Drawn SwitchML schedules: what they span, that they load, and that each ends by construction."""

from __future__ import annotations

from collections import Counter

from testbed.faults.healing import heals_at, kind_of
from testbed.faults.model import Kill, NodeFault, PacketFault
from testbed.hunt.draw import TRACE_EVERY, draw_schedule
from testbed.hunt.fate import may_fail, unsurvivable
from testbed.hunt.survival_datagrams import LOSES, must_end_ns, window_of
from testbed.plan import make_plan
from testbed.scenario import dump_scenario, load_scenario, parse_scenario
from topologies import DIRECTIONS

MANY = [draw_schedule(5, number, None, "switchml", "switchml").scenario for number in range(600)]


def spans(values):
    return set(values)


def test_a_schedule_follows_from_seed_and_number_alone():
    assert draw_schedule(5, 17, None, "switchml", "switchml").scenario == MANY[17]
    assert draw_schedule(6, 17, None, "switchml", "switchml").scenario != MANY[17]
    assert [scenario.trace for scenario in MANY] == [number % TRACE_EVERY == 0 for number in range(600)]


def test_jobs_workers_windows_and_memories():
    assert spans(one.job.copies for one in MANY) == {1, 2, 3, 4}
    assert spans(len(one.topology.hosts) // one.job.copies for one in MANY) == {1, 2, 3, 4}
    assert spans(one.job.dtype for one in MANY) == {"float32", "int32"}
    assert spans(one.job.iterations for one in MANY) == {1, 2, 3}
    memories = spans(one.switch.memory for one in MANY)
    assert (min(memories), max(memories)) == (2, 64)
    windows = Counter(map(window_of, MANY))
    assert max(windows) >= 8
    assert sum(count for window, count in windows.items() if window > 1) > 300
    assert any(one.job.window_packets > window_of(one) for one in MANY)


def test_the_window_is_the_one_of_the_plan():
    for scenario in MANY[:100]:
        assert {worker.window for worker in make_plan(scenario).workers} == {window_of(scenario)}


def test_every_kind_of_fault_on_every_part_both_ways():
    kinds = spans(kind_of(fault) for one in MANY for fault in one.faults)
    assert kinds == {
        "loss", "burst", "drop", "duplicate", "reorder", "delay", "link_down", "rate_change", "pause", "kill",
    }  # fmt: skip
    ways = spans(
        way for one in MANY for fault in one.faults if isinstance(fault, PacketFault) for way in fault.directions
    )
    assert ways == set(DIRECTIONS)
    struck = {(type(fault), fault.node[0]) for one in MANY for fault in one.faults if isinstance(fault, NodeFault)}
    assert len(struck) == 4  # pauses and kills, of hosts and of the switch
    assert spans(fault.match.attempt for one in MANY for fault in one.faults if isinstance(fault, PacketFault)) == {
        None, 1, 2, 3,
    }  # fmt: skip


def test_every_schedule_is_a_file():
    for scenario in MANY[:150]:
        assert parse_scenario(dump_scenario(scenario), "drawn") == scenario


def test_every_schedule_must_end_in_time_and_all_trouble_does():
    assert Counter(map(may_fail, MANY))[None] > 500
    for scenario in MANY:
        assert scenario.time_limit_ns == must_end_ns(scenario)
        assert unsurvivable(scenario) is None
        for fault in scenario.faults:
            if isinstance(fault, LOSES) and fault.match.attempt is None:
                assert heals_at(fault) is not None


def test_a_hunt_in_a_scenario_draws_only_faults_and_seeds():
    base = load_scenario("switchml-two-jobs", [], world="simulated")
    drawn = [draw_schedule(1, number, base).scenario for number in range(40)]
    assert all(
        (one.job, one.topology, one.time_limit_ns) == (base.job, base.topology, base.time_limit_ns) for one in drawn
    )
    assert len({one.faults for one in drawn}) > 35
    assert all(may_fail(one) or unsurvivable(one) is None for one in drawn)
    assert any(isinstance(fault, Kill) for one in drawn for fault in one.faults)
