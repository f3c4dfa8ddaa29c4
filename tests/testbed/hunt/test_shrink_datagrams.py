"""Schedules of datagram protocols shrink to what a failure needs, and end."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from testbed.faults.model import Drop, Kill, Match, Pause, Window
from testbed.hunt.draw import draw_schedule
from testbed.hunt.judge import run_and_judge
from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.shrink import shrink, simpler
from testbed.hunt.shrink_datagrams import smaller_datagrams
from testbed.hunt.shrink_hosts import in_one_rack, moved_together
from testbed.hunt.survival_datagrams import must_end_ns
from testbed.plan import make_plan
from testbed.scenario import dump_scenario, parse_scenario
from testbed.scenario.keys.job import Straggler
from tests.support.datagram_planted import DATAGRAM_PLANTED
from tests.testbed.hunt.test_survival_datagrams import SHAPE, atp, calm
from topologies import Direction, rack, spine_leaf
from workloads.errors import ScenarioError

DOWN = (Direction.DOWN,)


def drawn(number, kind="switchml"):
    return draw_schedule(2, number, None, kind, kind).scenario


@pytest.mark.parametrize("kind", ["switchml", "esa"])
def test_every_step_is_another_scenario_and_no_chain_of_steps_comes_back(kind):
    for number in range(20):
        scenario = drawn(number, kind)
        assert scenario not in list(simpler(scenario))
    seen, scenario = [], drawn(7, kind)
    while (following := next(simpler(scenario), None)) is not None:
        assert following not in seen
        seen.append(following)
        scenario = following
    assert len(seen) < 100


@pytest.mark.parametrize("kind", ["switchml", "atp", "esa"])
def test_nearly_every_step_loads_and_plans(kind):
    """The others ask for what a file may not say, and are passed over."""
    good = bad = 0
    for number in range(4):
        for candidate in islice(simpler(drawn(number, kind)), number, None, 9):
            try:
                good += parse_scenario(dump_scenario(candidate), "x") == candidate
            except ScenarioError:
                bad += 1
                continue
            assert make_plan(candidate).workers
    assert bad < good // 10


def test_copies_become_jobs_that_shrink_by_themselves():
    (one, *_) = smaller_datagrams(calm(hosts=6), PROTOCOLS["switchml"])
    assert [job.hosts for job in one.jobs] == [("h1", "h2", "h3"), ("h4", "h5", "h6")]
    assert make_plan(one).workers == make_plan(calm(hosts=6)).workers
    sizes = {tuple(len(job.hosts) for job in smaller.jobs) for smaller in smaller_datagrams(one, PROTOCOLS["switchml"])}
    assert {(3,), (2, 3), (3, 2)} <= sizes


def test_whoever_is_left_moves_together_and_takes_faults_along():
    slow = replace(SHAPE, rate_bps=10_000_000)
    scenario = atp(
        Drop("d", ("h1-s1", "h5-s1"), DOWN, match=Match(attempt=1)), Pause("p", "h4", Window(0, 5)),
        Kill("k", "h2", Window(1)), straggler=Straggler(1, 7),
    )  # fmt: skip
    scenario = replace(scenario, topology=rack(6, SHAPE, {"h5-s1": slow}))
    behind = moved_together(replace(scenario, jobs=scenario.jobs[1:]))
    assert behind.topology == rack(3, SHAPE, {"h2-s1": slow})
    assert [getattr(fault, "links", getattr(fault, "node", "")) for fault in behind.faults] == [("h2-s1",), "h1"]
    assert (behind.jobs[0].hosts, behind.jobs[0].server, behind.job.server) == (("h1", "h2"), "h3", "h3")


def test_two_levels_become_one():
    scenario = atp(Pause("p", "leaf2", Window(0, 5)), Drop("d", ("h1-leaf1", "leaf1-spine1")), leaves=True)
    flat = in_one_rack(scenario)
    assert flat.topology == rack(6, SHAPE)
    assert [getattr(fault, "links", getattr(fault, "node", "")) for fault in flat.faults] == ["s1", ("h1-s1",)]
    fewer = moved_together(replace(scenario, jobs=scenario.jobs[:1]))
    assert fewer.topology == rack(3, SHAPE)
    apart = moved_together(replace(scenario, jobs=(replace(scenario.jobs[0], hosts=("h2", "h5")),)))
    assert apart.topology == spine_leaf([2, 1], 1, SHAPE)
    assert (apart.jobs[0].hosts, apart.jobs[0].server) == (("h1", "h3"), "h2")


def test_a_planted_bug_shrinks_to_two_losses_of_one_result():
    machines = DATAGRAM_PLANTED["switchml"]["AnswersOnce"]
    both = ("h1-s1", "h4-s1")
    scenario = calm(
        Drop("a", both, DOWN, match=Match(attempt=1)), Drop("b", both, DOWN, match=Match(attempt=2)),
        Pause("p", "h1", Window(0, 9)),
        dtype="float32", size_bytes=600,
    )  # fmt: skip
    scenario = replace(scenario, transport=replace(scenario.transport, rto_ns=200_000))
    scenario = replace(scenario, time_limit_ns=must_end_ns(scenario) or 0)

    def fails(candidate):
        failure, _ = run_and_judge(candidate, machines)
        return failure is not None and failure.check == "liveness"

    shrunk = shrink(scenario, fails)
    small = shrunk.scenario
    assert shrunk.minimal
    assert fails(small)
    assert [(type(fault), fault.directions) for fault in small.faults] == [(Drop, DOWN)] * 2
    (job,) = small.jobs
    assert (len(small.topology.hosts), len(job.hosts), job.size_bytes, job.iterations, job.dtype) == (
        2,
        1,
        4,
        1,
        "int32",
    )
    assert (job.window_packets, small.switch.memory) == (1, 2)


def test_a_program_from_a_file_does_not_keep_a_schedule_from_shrinking():
    """A scenario file cannot name it: what is written names the program that it stands in for."""
    scenario = replace(drawn(3), switch=replace(drawn(3).switch, program="somewhere/my.py:Mine"))
    shrunk = shrink(scenario, lambda candidate: True).scenario
    assert len(shrunk.topology.hosts) == 2
    assert shrunk.faults == ()
    assert shrunk.switch.program == "somewhere/my.py:Mine"
    stock = replace(shrunk, switch=replace(shrunk.switch, program="switchml"))
    assert parse_scenario(dump_scenario(stock), "x") == stock
