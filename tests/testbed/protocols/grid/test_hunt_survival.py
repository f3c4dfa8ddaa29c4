"""Until when a schedule of GRID must have ended: each part of the argument moves the bound."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.faults.model import Drop, Kill, LinkDown, Loss, Match, Pause, Window
from testbed.hunt.expected import excused, may_fail, unsurvivable
from testbed.plan import make_plan
from testbed.protocols.grid.hunt_survival import must_end_ns, travel_ns, trouble_ns
from testbed.scenario.model import Job, Routing, Scenario, SwitchOptions, Transport
from topologies import DIRECTIONS, Direction, LinkShape, Topology, rack, spine_leaf

MS = 1_000_000
RTO = 10 * MS
REACT = 3 * MS
SHAPE = LinkShape(rate_bps=1_000_000_000, delay_ns=1000)
SPINES = spine_leaf([2, 1], 2, SHAPE)


def calm(*faults, topology: Topology | None = None, routing=(), **job) -> Scenario:
    """Two workers and a server."""
    told = {"size_bytes": 256 * 8, "dtype": "int32", "window_packets": 4, **job}
    return Scenario(
        name="x", topology=topology or rack(3, SHAPE), link=SHAPE, faults=faults, capture=False,
        transport=Transport(path_mtu=256, rto_ns=RTO), switch=SwitchOptions(program="grid", memory=4),
        job=Job(protocol="grid", hosts=("h1", "h2"), server="h3", **told),
        routing=replace(Routing(("h3",), "switchml", capacity_bps=10**9, react_ns=REACT), **dict(routing)),
    )  # fmt: skip


def end(*faults, **more) -> int:
    found = must_end_ns(calm(*faults, **more))
    assert found is not None
    return found


def test_a_block_takes_two_waits_and_four_ways_and_windows_may_shrink_to_one():
    scenario = calm()
    assert end() - 8 * (2 * 256 * RTO + 4 * travel_ns(scenario)) < 200 * MS
    assert end(iterations=3) > 2.9 * end()
    paced = calm(routing={"mode": "paced"})
    assert must_end_ns(paced) < end() / 3, "two windows"
    assert end(dtype="float32") > 1.4 * end()


def test_a_pace_is_waited_for():
    slow, fast = (calm(routing={"mode": "paced", "pace": pace}) for pace in (0.01, 1.0))
    assert travel_ns(slow) > travel_ns(fast) + 4 * 256 * 8 * 50


def test_what_takes_packets_away_counts_until_it_ends():
    loss = Loss("l", ("h1-s1",), window=Window(0, 50 * MS), rate=0.5)
    assert end(loss) == end() + 50 * MS
    assert end(Pause("p", "s1", Window(0, 7 * MS))) == end() + 7 * MS
    assert must_end_ns(calm(replace(loss, window=Window()))) is None
    assert unsurvivable(calm(replace(loss, window=Window()))) == "a fault that takes packets away has no end"


def test_attempts_make_every_round_longer_for_each_direction():
    drop = Drop("d", ("h1-s1", "h2-s1"), (Direction.UP,), match=Match(attempt=2))
    one, both = end(drop) - end(), end(replace(drop, directions=DIRECTIONS)) - end()
    assert one > 8 * 5 * 2 * 256 * RTO, "a packet, its repetition, a sum, a result, a refusal"
    assert both > 1.9 * one


def test_a_plan_that_goes_around_ends_the_trouble_when_it_holds():
    away = LinkDown("l", ("leaf1-spine1",), window=Window(MS))
    scenario = calm(away, topology=SPINES)
    assert trouble_ns(scenario) == MS + REACT
    assert (may_fail(scenario), excused(make_plan(scenario))) == (None, frozenset())
    dead = calm(Kill("k", "spine1", Window(MS)), topology=SPINES)
    assert trouble_ns(dead) == MS + REACT
    assert excused(make_plan(dead)) == frozenset()


def test_what_is_back_is_planned_once_more():
    away = LinkDown("l", ("h1-s1",), window=Window(MS, 2 * MS))
    assert trouble_ns(calm(away)) == 2 * MS + REACT
    assert excused(make_plan(calm(away))) == frozenset()


def test_what_stays_away_without_a_way_around_excuses_all():
    away = calm(LinkDown("l", ("h1-s1",), window=Window(MS)))
    assert must_end_ns(away) is None
    assert may_fail(away) == "no plan goes around what stays away"
    assert excused(make_plan(away)) == {"h1", "h2"}
    assert excused(make_plan(calm(Kill("k", "s1", Window(MS))))) == {"h1", "h2"}


@pytest.mark.parametrize(("node", "back", "who"), [
    ("h3", 2 * MS, set()), ("s1", 2 * MS, set()), ("h3", None, {"h1", "h2"}), ("h1", 2 * MS, {"h1", "h2"}),
])  # fmt: skip
def test_a_switch_or_a_server_that_starts_anew_excuses_nobody(node, back, who):
    assert excused(make_plan(calm(Kill("k", node, Window(MS, back))))) == who


def test_a_server_that_starts_anew_asks_and_that_takes_waits():
    anew = Kill("k", "h3", Window(MS, 2 * MS))
    assert end(anew) > end() + 8 * 2 * 256 * RTO


def test_sums_that_may_overflow_are_excused():
    scenario = calm(dtype="int32sat")
    assert may_fail(scenario) == "a sum may leave int32, which is reported"
    assert excused(make_plan(scenario)) == {"h1", "h2"}


def test_more_switches_make_ways_longer_and_a_short_limit_is_told():
    assert travel_ns(calm(topology=SPINES)) > 3 * travel_ns(calm())
    assert "its time limit is 5 ns" in (unsurvivable(replace(calm(), time_limit_ns=5)) or "")
