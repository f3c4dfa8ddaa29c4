"""Nodes of the emulated world in injected time: as those of the simulated world, also when they wake up late."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.lossless.headroom import exact_headroom
from testbed.history.pfc_events import BufferMeasured, LinkPaused, PauseAsked, PfcDropped
from tests.support.lossless_nodes import LosslessNodes
from tests.support.scripted import Network

pytestmark = pytest.mark.protocols("ring")

TWO_HOSTS = """
topology:
  kind: rack
  hosts: 2
  link: {rate: 1Gbps, delay: 1us, mtu: 1486}
  links: {h2-s1: {rate: 100Mbps}}
switch: {program: forward}
pfc: {model: static, threshold: 2500B, resume_below: 1000B, buffer: 100kB, response_time: 2us}
"""
WORST = """
topology:
  kind: rack
  hosts: 3
  link: {{rate: {rate}, delay: {delay}, mtu: 1486}}
switch: {{program: forward}}
pfc: {{model: static, threshold: {threshold}B, headroom: {headroom}B, buffer: 4MB, quanta: 65535{more}}}
faults: [{{kind: pause_storm, node: h2}}]
"""
FRAME = 1500


def test_a_pause_is_right_to_the_ns():
    """The times that tests/testbed/worlds/simulated/lossless/test_times.py works out."""
    network = LosslessNodes(TWO_HOSTS)
    network.send("h1", "h2", 5, 1000)
    network.run(1_000_000)
    (pause,) = network.events(LinkPaused)
    assert (pause.link, pause.direction, pause.since_ns, pause.until_ns) == ("h1-s1", "up", 28_480, 250_480)
    assert network.came("h2") == [90_000 + 80_000 * number for number in range(5)]
    (asked,) = network.events(PauseAsked)
    assert (asked.link, asked.direction, asked.cause, asked.is_paused) == ("h1-s1", "up", "h2-s1 down", False)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_both_worlds_deliver_the_same_frames_at_the_same_times(seed):
    """Links have different rates. At one rate, each frame of a flow would reach the switch at the very time when the
    last one has left it, and each world has an order of its own for such two."""
    draw = random.Random(seed)
    text = WORST.format(
        rate="1Gbps", delay=draw.choice(("0ns", "1us")), threshold=draw.randint(2, 12) * FRAME, headroom=60_000, more=""
    ).replace("faults: [{kind: pause_storm, node: h2}]", "") + (
        f"faults: [{{kind: pause_storm, node: h2, from: 10us, until: {draw.randint(20, 400)}us}}]\n"
    )
    text = text.replace("mtu: 1486}", "mtu: 1486}\n  links: {h2-s1: {rate: 937Mbps}, h3-s1: {rate: 1061Mbps}}")
    both = Network(text), LosslessNodes(text)
    for _ in range(draw.randint(1, 12)):
        source, target = draw.sample(("h1", "h2", "h3"), 2)
        flow = source, target, draw.randint(1, 20), draw.randint(60, FRAME), 997 * draw.randint(0, 200)
        for network in both:
            network.send(*flow)
    for network in both:
        network.run(5_000_000)
    for host in ("h1", "h2", "h3"):
        assert both[0].came(host) == both[1].came(host)


def worst_phase(rate, delay, bps, delay_ns, headroom, more):
    """As `worst_phase` of the simulated world's tests: h3's frame to h1 begins 1 ns before the switch pauses h1."""
    text = WORST.format(rate=rate, delay=delay, threshold=4 * FRAME + FRAME - 1, headroom=headroom, more=more)
    network, frame_ns, start = LosslessNodes(text), FRAME * 8 * 10**9 // bps, 2_000_000
    crossing = start + 5 * frame_ns + delay_ns
    network.send("h1", "h2", 400, FRAME, at=start)
    network.send("h3", "h1", 1, FRAME, at=crossing - 1 - frame_ns - delay_ns)
    return network.run(start + 200 * frame_ns)


@pytest.mark.parametrize(
    ("rate", "delay", "bps", "delay_ns", "response_ns", "more"),
    [("1Gbps", "1us", 10**9, 1_000, 1_024, ""), ("40Gbps", "300ns", 4 * 10**10, 300, 0, ", response_time: 0ns")],
)
def test_exact_headroom_drops_nothing_and_one_frame_less_does(rate, delay, bps, delay_ns, response_ns, more):
    exact = exact_headroom(bps, delay_ns, FRAME, response_ns)
    enough = worst_phase(rate, delay, bps, delay_ns, exact, more)
    assert not enough.events(PfcDropped)
    used = next(event for event in enough.events(BufferMeasured) if event.link == "h1-s1").most_used
    assert exact - FRAME < used <= exact
    less = worst_phase(rate, delay, bps, delay_ns, exact - FRAME, more)
    drop = less.events(PfcDropped)[0]
    assert drop.link == "h1-s1"
    assert 0 < drop.missing <= FRAME


def dense(late, slack_ns=80_000):
    """h1 sends 200 frames of 12 us each to h2, at full rate."""
    text = WORST.format(rate="1Gbps", delay="0ns", threshold=90_000, headroom=60_000, more="")
    network = LosslessNodes(text.partition("faults")[0], late, slack_ns)
    network.send("h1", "h2", 200, FRAME)
    return network


def test_nodes_that_wake_up_late_keep_the_rate_of_the_link():
    draw = random.Random(1)
    network = dense(lambda node: draw.randrange(30_000)).run(10_000_000)
    times = network.came("h2")
    assert len(times) == 200
    ideal = [12_000 * (number + 2) for number in range(200)]
    assert max(abs(time - due) for time, due in zip(times, ideal, strict=True)) <= 4 * 30_000


def test_a_node_that_stood_still_does_not_send_later_what_it_could_have_sent():
    stalls = [0]

    def late(node):
        stalls[0] += node == "h1"
        return 1_000_000 if node == "h1" and stalls[0] == 50 else 0

    network = dense(late).run(10_000_000)
    times = network.came("h2")
    assert len(times) == 200
    assert max(after - before for before, after in pairwise(times)) >= 900_000
    # 80 us of slack are seven frames. The switch would ask for a pause from 60 frames on, of the 83 of the stand-still.
    assert not network.events(PauseAsked)


def test_a_timer_that_expires_while_a_node_stands_still_is_served_afterwards():
    wakes = [0]

    def late(node):
        wakes[0] += node == "h1"
        return 1_000_000 if node == "h1" and wakes[0] == 1 else 0

    text = WORST.format(rate="1Gbps", delay="0ns", threshold=90_000, headroom=60_000, more="")
    network = LosslessNodes(text.partition("faults")[0], late)
    network.send("h1", "h2", 1, FRAME, at=500_000)
    network.run(3_000_000)
    # It wakes up at 1.5 ms, makes 80 us good, and two links take 12 us each.
    assert network.came("h2") == [1_512_000]


def test_a_pfc_frame_counts_from_before_what_the_node_makes_good():
    """h1 wakes up 60 us late each time, five frames of 12 us. What it makes good then must not pass a pause that came
    in the meantime."""
    text = WORST.format(rate="1Gbps", delay="0ns", threshold=3 * FRAME, headroom=60_000, more="")
    network = LosslessNodes(text, lambda node: 60_000 if node == "h1" else 0)
    network.send("h1", "h2", 200, FRAME)
    network.run(3_000_000)
    assert not network.events(PfcDropped)
    used = next(event for event in network.events(BufferMeasured) if event.link == "h1-s1").most_used
    assert used <= 6 * FRAME


def test_a_control_frame_ends_at_the_node_that_gets_it():
    network = LosslessNodes(TWO_HOSTS)
    network.send("h1", "h2", 5, 1000)
    network.run(1_000_000)
    assert network.came("h1") == []
    assert len(network.came("h2")) == 5
