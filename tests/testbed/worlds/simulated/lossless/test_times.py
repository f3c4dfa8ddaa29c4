"""Times of pauses, to the ns, worked out by hand; and exact headroom in the worst phase."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.lossless.headroom import exact_headroom
from testbed.faults.events import FaultStruck
from testbed.history.pfc_events import BufferMeasured, LinkPaused, PfcDropped
from testbed.worlds.simulated.lossless.wire import LosslessWire
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


def test_a_pause_and_its_end_are_right_to_the_ns():
    network = Network(TWO_HOSTS)
    network.send("h1", "h2", 5, 1000)
    network.run(1_000_000)
    # Frames of 8 us arrive at 9, 17, 25 us. The third exceeds 2,500 B. A PFC frame takes 480 ns and 1 us of delay, the
    # response 2 us. So the pause holds from 28.48 us: the fourth frame began at 24 us, the fifth does not begin at 32.
    # The switch sends one frame in 80 us. Behind the third, at 249 us, 1,000 B remain: it lets h1 go on.
    (pause,) = network.events(LinkPaused)
    assert (pause.link, pause.direction, pause.pfc_class) == ("h1-s1", "up", 3)
    assert (pause.since_ns, pause.until_ns) == (28_480, 250_480)
    assert pause.root == "h2-s1 down"
    ends = [89_000 + 80_000 * number for number in range(5)]
    assert network.came("h2") == [end + 1_000 for end in ends]
    up, _ = network.events(BufferMeasured)
    assert (up.most_used, up.pauses_sent) == (2_000, 1)


def test_without_a_response_time_the_frame_in_service_still_ends():
    network = Network(TWO_HOSTS.replace("response_time: 2us", "response_time: 0ns"))
    network.send("h1", "h2", 5, 1000)
    network.run(1_000_000)
    assert network.events(LinkPaused)[0].since_ns == 26_480
    assert network.events(BufferMeasured)[0].most_used == 2_000


def test_a_frame_that_begins_within_the_response_time_goes():
    """The pause frame comes at 26.48 us; with 6 us the fifth frame begins at 32 us all the same."""
    network = Network(TWO_HOSTS.replace("response_time: 2us", "response_time: 6us"))
    network.send("h1", "h2", 5, 1000)
    network.run(1_000_000)
    assert network.events(LinkPaused)[0].since_ns == 32_480
    assert network.events(BufferMeasured)[0].most_used == 3_000


def test_a_pause_that_is_needed_longer_is_asked_for_again():
    """110 quanta are 56.32 us. The switch asks at 25 us, then each 28.16 us, until it lets h1 go on at 249 us."""
    network = Network(TWO_HOSTS.replace("response_time: 2us", "response_time: 2us, quanta: 110"))
    network.send("h1", "h2", 5, 1000)
    network.run(1_000_000)
    (pause,) = network.events(LinkPaused)
    assert (pause.since_ns, pause.until_ns) == (28_480, 250_480)
    assert network.events(BufferMeasured)[0].pauses_sent == 8


def test_a_pause_that_is_not_asked_for_again_runs_out():
    """The link loses all that the switch sends from 30 us on. With 200 quanta of 512 ns a pause ends 102.4 us after its
    frame came, at 26.48 us."""
    text = TWO_HOSTS.replace("response_time: 2us", "response_time: 2us, quanta: 200")
    text += "faults: [{kind: loss, rate: 100%, links: [h1-s1], direction: down, from: 30us}]\n"
    network = Network(text)
    network.send("h1", "h2", 5, 1000)
    network.run(1_000_000)
    (pause,) = network.events(LinkPaused)
    assert (pause.since_ns, pause.until_ns) == (28_480, 128_880)
    assert network.events(FaultStruck)


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


def worst_phase(rate, delay, bps, delay_ns, response_ns, headroom, before, more=""):
    """h2 takes nothing. h1 sends to it without end. `before` ns before the switch pauses h1, it begins a frame of h3 to
    h1, which is the longest that there is."""
    threshold = 4 * FRAME + FRAME - 1
    text = WORST.format(rate=rate, delay=delay, threshold=threshold, headroom=headroom, more=more)
    network = Network(text)
    frame_ns = FRAME * 8 * 10**9 // bps
    start = 2_000_000
    crossing = start + 5 * frame_ns + delay_ns  # the fifth frame does not fit below the threshold
    network.send("h1", "h2", 400, FRAME, at=start)
    network.send("h3", "h1", 1, FRAME, at=crossing - before - frame_ns - delay_ns)
    network.run(start + 200 * frame_ns)
    return network


@pytest.mark.parametrize(
    ("rate", "delay", "bps", "delay_ns", "response_ns", "more"),
    [
        ("1Gbps", "1us", 10**9, 1_000, 1_024, ""),
        ("10Gbps", "2us", 10**10, 2_000, 3_072, ""),
        ("40Gbps", "300ns", 4 * 10**10, 300, 0, ", response_time: 0ns"),
        ("100Gbps", "5us", 10**11, 5_000, 2_018, ""),
    ],
)
def test_exact_headroom_drops_nothing_and_one_frame_less_does(rate, delay, bps, delay_ns, response_ns, more):
    exact = exact_headroom(bps, delay_ns, FRAME, response_ns)
    given = (rate, delay, bps, delay_ns, response_ns)
    enough = worst_phase(*given, exact, 1, more)
    assert not enough.events(PfcDropped)
    used = next(event for event in enough.events(BufferMeasured) if event.link == "h1-s1").most_used
    assert exact - FRAME < used <= exact
    less = worst_phase(*given, exact - FRAME, 1, more)
    (drop,) = less.events(PfcDropped)[:1]
    assert drop.link == "h1-s1"
    assert 0 < drop.missing <= FRAME
    # Half a frame earlier or later is not the worst phase.
    assert not worst_phase(*given, exact, FRAME * 4 * 10**9 // bps, more).events(PfcDropped)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(60, FRAME), min_size=8, max_size=60),
    back=st.lists(st.tuples(st.integers(0, 150_000), st.integers(60, FRAME)), max_size=40),
    threshold=st.integers(2 * FRAME, 12 * FRAME),
    response=st.sampled_from([0, 1_024, 30_000]),
)
def test_exact_headroom_is_enough_in_every_phase(sizes, back, threshold, response):
    """Frames of any size, a threshold anywhere, and any traffic on the way back."""
    exact = exact_headroom(10**9, 1_000, FRAME, response)
    text = WORST.format(
        rate="1Gbps", delay="1us", threshold=threshold, headroom=exact, more=f", response_time: {response}ns"
    )
    network = Network(text)
    for size in sizes * 3:
        network.send("h1", "h2", 1, size, at=10_000)
    for at, size in back:
        network.send("h3", "h1", 1, size, at=at)
    network.run(3_000_000)
    assert not network.events(PfcDropped)
    assert len(network.came("h1")) == len(back)


def test_a_control_frame_is_not_forwarded():
    network = Network(TWO_HOSTS)
    network.send("h1", "h2", 5, 1000)
    network.run(1_000_000)
    wires = network.simulation._wires
    assert all(isinstance(wire, LosslessWire) for wire in wires.values())
    assert sum(wire.control_frames for wire in wires.values()) == 2
    assert network.came("h1") == []


def test_a_control_frame_overtakes_what_waits_but_not_the_frame_in_service():
    """20 frames of 1,500 B, 12 us each, wait for h1 when the switch pauses it. The storm keeps h2's frames back."""
    network = Network(
        """
topology: {kind: rack, hosts: 4, link: {rate: 1Gbps, mtu: 1486}}
switch: {program: forward}
pfc: {model: static, threshold: 40kB, buffer: 1MB, response_time: 0ns}
faults: [{kind: pause_storm, node: h2}]
"""
    )
    for source in ("h3", "h4"):
        network.send(source, "h1", 40, 1500)
    network.send("h1", "h2", 40, 1500)
    network.run(3_000_000)
    pause = next(event for event in network.events(LinkPaused) if event.link == "h1-s1")
    crossing = 27 * 12_000  # the 27th frame of h1 exceeds 40 kB; one left before the storm
    assert crossing < pause.since_ns <= crossing + 2 * 12_000 + 480
