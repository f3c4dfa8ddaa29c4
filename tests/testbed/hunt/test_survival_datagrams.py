"""Until when a schedule without retry budget must have ended: each part of the argument moves the bound."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.faults.model import Delay, Drop, Duplicate, Kill, Loss, Match, Pause, RateChange, Reorder, Window
from testbed.hunt.draw import draw_schedule
from testbed.hunt.expected import excused, may_fail, unsurvivable
from testbed.hunt.survival_datagrams import all_must_finish, copies_of, must_end_ns, rounds, travel_ns, window_of
from testbed.plan import make_plan
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from topologies import DIRECTIONS, Direction, LinkShape, fat_tree, rack, spine_leaf
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

MS = 1_000_000
SHAPE = LinkShape(rate_bps=1_000_000_000, delay_ns=1000)
UP = (Direction.UP,)


def calm(*faults, hosts=4, copies=2, **job) -> Scenario:
    told = {"size_bytes": 256 * 8, "dtype": "int32", "window_packets": 4, **job}
    return Scenario(
        name="x", topology=rack(hosts, SHAPE), link=SHAPE, faults=faults, capture=False,
        transport=Transport(path_mtu=256, rto_ns=10 * MS), switch=SwitchOptions(program="switchml", memory=64),
        job=Job(protocol="switchml", copies=copies, **told),
    )  # fmt: skip


def window(scenario) -> int:
    return window_of(scenario, scenario.all_jobs[0])


def rounds_of(scenario) -> int:
    return rounds(scenario, scenario.all_jobs[0])


def end(*faults, **job) -> int:
    found = must_end_ns(calm(*faults, **job))
    assert found is not None
    return found


def atp(*faults, kind="atp", leaves=False, aimd=False, **job) -> Scenario:
    """Two workers and a server, for each of two jobs."""
    told = {"size_bytes": 256 * 8, "dtype": "int32", "window_packets": 4, **job}
    base = Job(protocol=kind, server="h6")
    jobs = tuple(
        replace(base, name=f"job{n + 1}", number=n + 1, seed_offset=n, hosts=hosts, server=server, **told)
        for n, (hosts, server) in enumerate(((("h1", "h2"), "h3"), (("h4", "h5"), "h6")))
    )
    return Scenario(
        name="x", topology=spine_leaf([3, 3], 1, SHAPE) if leaves else rack(6, SHAPE), link=SHAPE, faults=faults,
        transport=Transport(path_mtu=256, rto_ns=10 * MS, aimd=aimd), switch=SwitchOptions(program=kind, memory=64),
        job=base, jobs=jobs, capture=False,
    )  # fmt: skip


def test_rounds_are_blocks_by_window_and_floats_take_a_window_more():
    assert window(calm()) == 4
    assert window(replace(calm(), switch=SwitchOptions(program="switchml", memory=8))) == 2
    assert window(calm(size_bytes=300)) == 2
    assert rounds_of(calm()) == 2
    assert rounds_of(calm(iterations=3)) == 6
    assert rounds_of(calm(dtype="float32")) == 3
    assert rounds_of(calm(size_bytes=300, dtype="float32")) == 2


def test_what_takes_packets_away_counts_until_it_ends():
    loss = Loss("l", ("h1-s1",), window=Window(0, 50 * MS), rate=0.5)
    assert end() + 50 * MS <= end(loss) <= end() + 52 * MS
    assert end() + 7 * MS <= end(Pause("p", "s1", Window(0, 7 * MS))) <= end() + 8 * MS
    assert must_end_ns(calm(replace(loss, window=Window()))) is None
    assert unsurvivable(calm(replace(loss, window=Window()))) == "a fault that takes packets away has no end"


def test_attempts_make_every_round_longer_for_each_direction():
    drop = Drop("d", ("h1-s1", "h2-s1"), UP, match=Match(attempt=2))
    one, both = end(drop) - end(), end(replace(drop, directions=DIRECTIONS)) - end()
    assert one > 2 * 16 * 10 * MS  # two rounds
    assert both > 2 * one


def test_queues_that_drop_take_more_rounds():
    short = replace(SHAPE, queue_packets=1)
    scenario = replace(calm(), topology=rack(4, short), link=short)
    assert (must_end_ns(scenario) or 0) - end() > 2 * 16 * 10 * MS


def test_trouble_makes_waits_longer_by_a_hundredth_of_it():
    near, far = (Loss("l", ("h1-s1",), window=Window(0, stop), rate=0.5) for stop in (100 * MS, 1100 * MS))
    more = end(far) - end(near) - 1000 * MS
    assert 2 * 10 * MS <= more <= 2.2 * 10 * MS  # in each of two rounds


def test_servers_take_more_waits_a_round_and_reminders_more_again():
    one, two, esa = (must_end_ns(atp(**how)) or 0 for how in ({}, {"leaves": True}, {"kind": "esa"}))
    assert end() < one < two < esa


def test_switches_of_every_tier_that_add_take_a_wait_each():
    """On the longest way: one, three, five."""
    scenario = atp(kind="ps")
    fabrics = (rack(16, SHAPE), spine_leaf([8, 8], 1, SHAPE), fat_tree(4, SHAPE))
    ends = [must_end_ns(replace(scenario, topology=fabric)) or 0 for fabric in fabrics]
    each = rounds_of(scenario) * 256 * 10 * MS
    assert [round((end - ends[0]) / each) for end in ends] == [0, 2, 4]
    rack_end, fabric_end = (must_end_ns(replace(atp(), topology=fabric)) or 0 for fabric in fabrics[:2])
    assert round((fabric_end - rack_end) / each) == 1, "spines of ATP only forward"


def test_a_fault_takes_its_attempt_on_every_tier():
    drop = Drop("d", ("h1-edge1", "edge1-agg1", "agg1-core1"), match=Match(attempt=1))
    scenario = replace(atp(drop, kind="ps"), topology=fat_tree(4, SHAPE))
    once = replace(scenario, faults=(replace(drop, links=("h1-edge1", "h2-edge1")),))
    more = (must_end_ns(scenario) or 0) - (must_end_ns(once) or 0)
    wait = rounds_of(scenario) * 6 * 256 * 10 * MS
    assert round(more / wait) == 2 * 4 * len(drop.directions), "two tiers more, four kinds of frames"


def test_aimd_may_take_a_round_for_every_packet():
    assert rounds_of(atp()) == 2
    assert rounds_of(atp(aimd=True)) == 8
    assert rounds_of(calm()) == 2


def test_a_server_dies_with_its_jobs_alone():
    scenario = atp(Kill("k", "h3", Window(MS)))
    assert may_fail(scenario) == "a node is killed"
    assert excused(make_plan(scenario)) == {"h1", "h2"}
    leaf = atp(Kill("k", "leaf1", Window(MS)), leaves=True)
    assert excused(make_plan(leaf)) == {"h1", "h2", "h4", "h5"}


@pytest.mark.parametrize("kind", ["atp", "esa"])
@pytest.mark.parametrize("node", ["h3", "s1"])
def test_a_switch_or_a_server_that_starts_anew_excuses_nobody_beside_a_server(kind, node):
    kill = Kill("k", node, Window(MS, 2 * MS))
    assert excused(make_plan(atp(kill, kind=kind))) == frozenset()
    assert excused(make_plan(atp(replace(kill, window=Window(MS)), kind=kind)))


def test_a_worker_that_starts_anew_excuses_its_job():
    assert excused(make_plan(atp(Kill("k", "h1", Window(MS, 2 * MS))))) == {"h1", "h2"}


def test_a_server_that_starts_anew_asks_and_that_takes_waits():
    anew = atp(Kill("k", "h3", Window(MS, 2 * MS)))
    assert must_end_ns(anew) - 2 * MS > must_end_ns(atp()) + 2 * 256 * anew.transport.rto_ns


@pytest.mark.parametrize("change", [{"dtype": "int32sat"}, {"dtype": "float32", "fixed_scale": 1e6}])
def test_sums_that_may_overflow_are_excused_where_they_may(change):
    scenario = atp()
    scenario = replace(scenario, jobs=(scenario.jobs[0], replace(scenario.jobs[1], **change)))
    assert may_fail(scenario) == "a sum may leave int32, which is reported"
    assert excused(make_plan(scenario)) == {"h4", "h5"}


def test_copies_are_doubled_again_on_each_tier():
    both = Duplicate("d", ("h1-leaf1", "leaf1-spine1"), UP, rate=1.0)
    assert copies_of(atp(both, leaves=True)) == 4
    assert copies_of(atp(replace(both, links=("h1-leaf1",)), leaves=True)) == 2
    assert copies_of(calm(Duplicate("d", ("h1-s1",), DIRECTIONS, rate=0.5))) == 2.25


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
    late = {"straggler": Straggler(1, 5 * MS)}
    assert 4 * 5 * MS <= end(iterations=3, **late) - end(iterations=3) <= 21 * MS  # one to spare


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


def test_what_is_repeated_while_it_is_under_way_fills_queues():
    """Found by hunting: copies of repetitions kept a link busy, and a job took 20 times as long as its packets
    alone."""
    patient = calm()
    hasty = replace(patient, transport=replace(patient.transport, rto_ns=travel_ns(patient) - 1))
    just = replace(patient, transport=replace(patient.transport, rto_ns=travel_ns(patient)))
    frame_ns = (256 + AGGREGATION_OVERHEAD_BYTES) * 8
    assert must_end_ns(hasty) - must_end_ns(just) > 4 * SHAPE.queue_packets * frame_ns
    backs_off = atp()
    assert must_end_ns(replace(backs_off, transport=replace(backs_off.transport, rto_ns=1000))) < must_end_ns(backs_off)


def test_faults_beside_kills_excuse_nobody_where_servers_are():
    loss = Loss("l", ("h1-s1",), window=Window(0, MS), rate=0.5)
    assert excused(make_plan(atp(loss))) == frozenset()
    assert excused(make_plan(atp(loss, Kill("k", "h3", Window(MS))))) == {"h1", "h2"}


@pytest.mark.parametrize("slower", [{"delay_ns": 8000}, {"jitter_ns": 7000}])
def test_long_links_make_the_way_longer(slower):
    link = replace(SHAPE, **slower)
    assert travel_ns(replace(calm(), topology=rack(4, link), link=link)) == travel_ns(calm()) + 4 * 7000


def test_memory_bounds_no_window_where_a_server_takes_what_finds_no_slot():
    assert window(replace(atp(), switch=replace(atp().switch, memory=2))) == 4


def test_trouble_ends_with_the_last_of_it():
    """The end moves by what is added to the later one, whichever that is."""
    loss, kill = Loss("l", ("h1-s1",), window=Window(0, 50 * MS), rate=0.5), Kill("k", "h1", Window(MS, 2 * MS))
    assert end(loss, kill) == end(kill, loss) == end(loss)
    late = replace(kill, window=Window(MS, 90 * MS))
    assert end(loss, late) == end(late, loss) >= end(loss) + 40 * MS


@pytest.mark.parametrize("kind", ["switchml", "atp", "esa", "dlcp", "repair", "ps"])
def test_that_all_must_finish_is_known_without_a_plan(kind: str) -> None:
    drawn = [
        draw_schedule(3, number, program="forward" if kind == "dlcp" else kind, kind=kind).scenario
        for number in range(60)
    ]
    known = [scenario for scenario in drawn if all_must_finish(scenario)]
    assert 15 < len(known) < 60
    assert not any(excused(make_plan(scenario)) for scenario in known)


@pytest.mark.parametrize("change", [{"dtype": "int32sat"}, {"dtype": "float32", "fixed_scale": 1e6}])
def test_sums_that_may_overflow_need_not_finish(change: dict[str, object]) -> None:
    scenario = calm()
    assert all_must_finish(scenario)
    assert not all_must_finish(replace(scenario, job=replace(scenario.job, **change)))
    assert not all_must_finish(replace(scenario, faults=(Kill("k", "s1", Window(1)),)))
