"""The bound on trouble: what it refuses, and that it is neither loose nor empty."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.faults.model import Delay, Drop, Duplicate, Forge, Kill, LinkDown, Loss, Match, Pause, Window
from testbed.hunt.judge import run_and_judge
from testbed.hunt.survival import RESERVE, allowance_ns, disturbance_ns, may_fail, unsurvivable
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from topologies import Direction, LinkShape, rack, spine_leaf

SHAPE = LinkShape(rate_bps=1_000_000_000)
CALM = Scenario(
    name="calm",
    topology=rack(3, SHAPE),
    link=SHAPE,
    world="simulated",
    transport=Transport(path_mtu=256, timeout_code=10),
    job=Job(size_bytes=2000, message_packets=2, window_messages=2),
)
RTO = 4096 << 10
LINKS = tuple(link.name for link in CALM.topology.links)


def with_(*faults, **transport):
    return replace(CALM, faults=faults, transport=replace(CALM.transport, **transport))


def sprayed(program, **transport):
    topology = replace(spine_leaf((1, 1), 2, SHAPE), multipath="spray")
    return replace(with_(**transport), topology=topology, switch=SwitchOptions(program))


def test_a_calm_scenario_may_be_disturbed_for_the_retries_that_recovery_leaves():
    assert allowance_ns(CALM) == (7 - RESERVE) * RTO
    assert disturbance_ns(CALM) == 0
    assert unsurvivable(CALM) is None


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        (with_(timeout_code=0), "no timeout is set, so a lost packet may wait for ever"),
        (with_(Loss("l", LINKS, rate=0.01)), "a fault that takes packets away has no end"),
        (
            with_(Pause("p", "h1", Window(0, 4 * RTO + 1))),
            "faults may hold up progress for 16777217 ns; the retries outlast 16777216 ns",
        ),
        (
            with_(Drop("d", LINKS, match=Match(attempt=1)), Loss("l", LINKS, window=Window(0, 2 * RTO + 1))),
            "faults may hold up progress for 16777217 ns; the retries outlast 16777216 ns",
        ),
        (
            with_(Delay("d", LINKS, delay_ns=RTO // 4 + 1)),
            "a window takes up to 1062404 ns there and back, more than the RTO of 4194304 ns",
        ),
    ],
)
def test_what_is_not_survivable(scenario, why):
    found = unsurvivable(scenario)
    if "there and back" in why:
        assert found is not None
        assert found.endswith("ns there and back, more than the RTO of 4194304 ns")
    else:
        assert found == why


def test_windows_count_from_the_first_to_the_last():
    late = with_(Loss("l", LINKS, window=Window(90 * RTO, 91 * RTO)), Pause("p", "h1", Window(92 * RTO, 93 * RTO)))
    assert disturbance_ns(late) == 3 * RTO
    once = Drop("d", LINKS, (Direction.UP,), match=Match(attempt=2))
    assert disturbance_ns(with_(once)) == RTO


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (CALM, None),
        (with_(Loss("l", LINKS)), None),
        (with_(Kill("k", node="s1")), "a node is killed"),
        (with_(Forge("f", LINKS, what="nak_fatal")), "a forged frame may end a queue pair"),
        (with_(Forge("f", LINKS, (Direction.UP,), what="misplaced")), None),
        (with_(receive_late_ns=5, rnr_retry=2), "receives come late, and the RNR budget is finite"),
        (with_(Loss("l", LINKS), retry_count=3), "the retry budget is too small for a loss or a wait"),
        (sprayed("forward", retry_count=3), "the retry budget is too small where packets overtake each other"),
        (sprayed("forward", retry_count=4), None),
        (sprayed("forward", retry_count=3, recovery="irn"), None),
        (sprayed("netreduce", retry_count=3), None),
    ],
)
def test_what_may_fail(scenario, reason):
    assert may_fail(scenario) == reason


def test_the_allowance_is_survived_and_the_whole_budget_is_not():
    """All links down from the start: at (c - 3) R all is well; at c R and more no queue pair is left."""
    down = with_(LinkDown("down", LINKS, window=Window(0, allowance_ns(CALM))))
    assert run_and_judge(down) == (None, run_and_judge(down)[1])
    dead, _ = run_and_judge(with_(LinkDown("down", LINKS, window=Window(0, 9 * RTO))))
    assert dead is not None
    assert dead.check == "liveness"
    assert "RETRY_EXC" in dead.detail


def test_what_is_doubled_at_every_hop_of_a_fabric_is_not_survivable():
    """16 frames of one at its receiver, and 256 answers at its sender: more than the RTO's worth. Found by hunting."""
    fabric = replace(CALM, topology=spine_leaf([2, 1], 1, SHAPE), transport=replace(CALM.transport, timeout_code=5))
    links = tuple(link.name for link in fabric.topology.links)
    twice = Duplicate("twice", links, tuple(Direction), Window(0, None), Match(), 1.0)
    assert unsurvivable(replace(fabric, job=replace(CALM.job, message_packets=1, window_messages=1))) is None
    small = replace(fabric, job=replace(CALM.job, message_packets=1, window_messages=1), faults=(twice,))
    assert "more than the RTO" in (unsurvivable(small) or "")
    assert unsurvivable(replace(small, faults=(replace(twice, match=Match(message=1)),))) is None
    assert unsurvivable(replace(small, topology=CALM.topology, faults=(replace(twice, links=LINKS),))) is None


def test_where_packets_are_sprayed_each_spine_may_take_the_first_copy_that_it_sees():
    """Eight copies: two at hosts' links, three on the way up and three on the way down. Found by hunting."""
    fabric = replace(CALM, topology=spine_leaf([1, 1], 3, SHAPE))
    links = tuple(link.name for link in fabric.topology.links)
    first = Drop("first", links, tuple(Direction), Window(0, None), Match(opcodes=frozenset({6, 10}), attempt=1), 1.0)
    flow = replace(fabric, faults=(first,))
    spray = replace(flow, topology=replace(fabric.topology, multipath="spray"))
    assert (disturbance_ns(flow), disturbance_ns(spray)) == (4 * RTO, 8 * RTO)
    assert unsurvivable(flow) is None
    assert "faults may hold up progress" in (unsurvivable(spray) or "")


def test_where_nothing_is_summed_each_further_fault_may_take_the_answers_too():
    """Two copies of a packet and two of its answer, on both links: eight timeouts, and seven retries. Found by
    hunting."""
    first, second = (Drop(f"d{number}", LINKS[:2], match=Match(attempt=number)) for number in (1, 2))
    summed = replace(with_(first, second, ack_every=16), topology=rack(2, SHAPE))
    job = replace(summed.job, protocol="sharded_ps", size_bytes=8)
    plain = replace(summed, switch=SwitchOptions("forward"), job=job)
    assert (disturbance_ns(summed), disturbance_ns(plain)) == (4 * RTO, 6 * RTO)
    assert "faults may hold up progress" in (unsurvivable(plain) or "")
    assert disturbance_ns(replace(plain, faults=(first,))) == 2 * RTO
    of_data = replace(second, match=Match(opcodes=frozenset({6, 10}), attempt=2))
    assert disturbance_ns(replace(plain, faults=(first, of_data))) == 4 * RTO
    failure, _ = run_and_judge(plain)
    assert failure is not None
    assert failure.check == "liveness"
