"""Schedules of datagram protocols shrink to what a failure needs, and end."""

from __future__ import annotations

from dataclasses import replace

from testbed.faults.model import Drop, Kill, Match, Pause, Window
from testbed.hunt.draw import draw_schedule
from testbed.hunt.judge import run_and_judge
from testbed.hunt.shrink import shrink, simpler
from testbed.hunt.shrink_hosts import on_rack_behind
from testbed.hunt.survival_datagrams import must_end_ns
from testbed.scenario import dump_scenario, parse_scenario
from tests.support.datagram_planted import DATAGRAM_PLANTED
from tests.testbed.hunt.test_survival_datagrams import SHAPE, calm
from topologies import Direction, rack

DOWN = (Direction.DOWN,)


def drawn(number):
    return draw_schedule(2, number, None, "switchml", "switchml").scenario


def test_every_step_is_another_scenario_and_no_chain_of_steps_comes_back():
    for number in range(40):
        scenario = drawn(number)
        assert scenario not in list(simpler(scenario))
    seen, scenario = [], drawn(7)
    while (following := next(simpler(scenario), None)) is not None:
        assert following not in seen
        seen.append(following)
        scenario = following
    assert len(seen) < 100


def test_steps_keep_jobs_of_one_size():
    for number in range(60):
        for candidate in simpler(drawn(number)):
            assert len(candidate.topology.hosts) % candidate.job.copies == 0
            assert candidate.switch.memory >= 2 * candidate.job.copies


def test_the_last_jobs_may_be_the_ones_that_stay():
    slow = replace(SHAPE, rate_bps=10_000_000)
    scenario = calm(
        Drop("d", ("h1-s1", "h4-s1"), (Direction.UP,), match=Match(attempt=1)), Pause("p", "h3", Window(0, 5)),
        Kill("k", "h2", Window(1)), straggle_rank=3, straggle_ns=7,
    )  # fmt: skip
    scenario = replace(scenario, topology=rack(4, SHAPE, {"h4-s1": slow}))
    behind = on_rack_behind(scenario, 2)
    assert behind.topology == rack(2, SHAPE, {"h2-s1": slow})
    assert [getattr(fault, "links", getattr(fault, "node", "")) for fault in behind.faults] == [("h2-s1",), "h1"]
    assert (behind.job.straggle_rank, behind.job.straggle_ns) == (1, 7)
    early = replace(scenario, job=replace(scenario.job, straggle_rank=0))
    assert on_rack_behind(early, 2).job.straggle_rank is None


def test_a_planted_bug_shrinks_to_two_losses_of_one_result():
    machines = DATAGRAM_PLANTED["switchml"]["AnswersOnce"]
    both = ("h1-s1", "h4-s1")
    scenario = calm(
        Drop("a", both, DOWN, match=Match(attempt=1)), Drop("b", both, DOWN, match=Match(attempt=2)), Pause("p", "h1", Window(0, 9)),
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
    assert [(type(fault), fault.links, fault.directions) for fault in small.faults] == [(Drop, ("h1-s1",), DOWN)] * 2
    job = small.job
    assert (len(small.topology.hosts), job.copies, job.size_bytes, job.iterations, job.dtype) == (2, 1, 4, 1, "int32")
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
