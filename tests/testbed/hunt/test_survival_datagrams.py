"""Until when a schedule without retry budget must have ended: each part of the argument moves the bound."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.faults.model import Delay, Drop, Duplicate, Kill, Loss, Match, Pause, RateChange, Reorder, Window
from testbed.hunt.fate import excused, may_fail, unsurvivable
from testbed.hunt.survival_datagrams import must_end_ns, rounds, travel_ns, window_of
from testbed.plan import make_plan
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from topologies import DIRECTIONS, Direction, LinkShape, rack

MS = 1_000_000
SHAPE = LinkShape(rate_bps=1_000_000_000, delay_ns=1000)
UP = (Direction.UP,)


def calm(*faults, hosts=4, copies=2, **job) -> Scenario:
    told = {"size_bytes": 256 * 8, "dtype": "int32", "window_packets": 4, **job}
    return Scenario(
        name="x", topology=rack(hosts, SHAPE), link=SHAPE, faults=faults, capture=False,
        transport=Transport(path_mtu=256, rto_ns=10 * MS), switch=SwitchOptions(program="switchml", memory=64),
        job=Job(collective="switchml", copies=copies, **told),
    )  # fmt: skip


def end(*faults, **job) -> int:
    found = must_end_ns(calm(*faults, **job))
    assert found is not None
    return found


def test_rounds_are_blocks_by_window_and_floats_take_a_window_more():
    assert window_of(calm()) == 4
    assert window_of(replace(calm(), switch=SwitchOptions(program="switchml", memory=8))) == 2
    assert window_of(calm(size_bytes=300)) == 2
    assert rounds(calm()) == 2
    assert rounds(calm(iterations=3)) == 6
    assert rounds(calm(dtype="float32")) == 3
    assert rounds(calm(size_bytes=300, dtype="float32")) == 2


def test_what_takes_packets_away_counts_until_it_ends():
    loss = Loss("l", ("h1-s1",), window=Window(0, 50 * MS), rate=0.5)
    assert end(loss) == end() + 50 * MS
    assert end(Pause("p", "s1", Window(0, 7 * MS))) == end() + 7 * MS
    assert must_end_ns(calm(replace(loss, window=Window()))) is None
    assert unsurvivable(calm(replace(loss, window=Window()))) == "a fault that takes packets away has no end"


def test_attempts_make_every_round_longer_for_each_direction():
    drop = Drop("d", ("h1-s1", "h2-s1"), UP, match=Match(attempt=2))
    one, both = end(drop) - end(), end(replace(drop, directions=DIRECTIONS)) - end()
    assert one == 2 * (16 * 10 * MS + travel_ns(calm()))  # two rounds
    assert both == 2 * one


def test_queues_that_drop_take_more_rounds():
    short = replace(SHAPE, queue_packets=1)
    scenario = replace(calm(), topology=rack(4, short), link=short)
    assert (must_end_ns(scenario) or 0) - end() == 2 * (16 * 10 * MS + travel_ns(calm()))


def test_long_trouble_doubles_the_waits():
    near, far = (Loss("l", ("h1-s1",), window=Window(0, stop), rate=0.5) for stop in (100 * MS, 800 * MS))
    assert end(far) - end(near) > 64 * 16 * 10 * MS


@pytest.mark.parametrize(
    ("fault", "more"),
    [
        (Delay("d", ("h1-s1",), delay_ns=300, jitter_ns=200), 4 * 500),
        (Reorder("r", ("h1-s1",), delay_ns=700), 4 * 700),
    ],
)
def test_what_holds_packets_back_makes_the_way_longer(fault, more):
    assert travel_ns(calm(fault)) == travel_ns(calm()) + more


def test_copies_and_slow_links_make_the_way_longer():
    plain = travel_ns(calm())
    assert travel_ns(calm(Duplicate("d", ("h1-s1",), UP, rate=1.0))) > plain
    assert travel_ns(calm(RateChange("r", ("h1-s1",), window=Window(0, 1), rate_bps=1_000_000))) > 100 * plain


def test_a_straggler_holds_up_every_iteration():
    late = {"straggle_rank": 1, "straggle_ns": 5 * MS}
    assert end(iterations=3, **late) - end(iterations=3) == 4 * 5 * MS  # one to spare


def test_a_time_limit_before_the_end_is_none():
    assert unsurvivable(replace(calm(), time_limit_ns=end())) is None
    assert (
        unsurvivable(replace(calm(), time_limit_ns=end() - 1))
        == f"it may take {end()} ns; its time limit is {end() - 1} ns"
    )


def test_only_kills_excuse_and_only_the_jobs_that_they_hit():
    assert may_fail(calm(Loss("l", ("h1-s1",), window=Window(0, MS)))) is None
    host, switch = calm(Kill("k", "h3", Window(MS))), calm(Kill("k", "s1", Window(MS, 2 * MS)))
    assert may_fail(host) == may_fail(switch) == "a node is killed"
    assert excused(make_plan(host)) == {"h3", "h4"}
    assert excused(make_plan(switch)) == {"h1", "h2", "h3", "h4"}
    assert excused(make_plan(calm())) == frozenset()
