"""Several classes, slow receivers, faults on PFC frames, and what is charged."""

import pytest

from testbed.captures.capture import MemoryTap
from testbed.faults.events import FaultStruck
from testbed.history.pfc_events import BufferMeasured, FlowsPaused, LinkPaused, PfcDropped
from tests.support.scripted import Network
from workloads.wire.pfc import decode_pfc

pytestmark = pytest.mark.protocols("ring")

TWO_CLASSES = """
topology: {kind: rack, hosts: 3, link: {rate: 1Gbps, mtu: 1486}}
switch: {program: forward}
pfc: {model: static, threshold: 2500B, buffer: 1MB, classes: [3, 4, 3, 0], lossless: [3, 4]}
faults: [{kind: pause_storm, node: h3, class: 3, until: 500us}]
"""


def test_a_pause_of_one_class_lets_the_others_pass():
    network = Network(TWO_CLASSES)
    network.send("h1", "h3", 4, 1000, layer_class=0)
    network.send("h1", "h3", 4, 1001, layer_class=1)
    network.send("h1", "h2", 4, 1002, layer_class=1)
    network.run(2_000_000)
    assert max(network.came("h3", 1001)) < 120_000
    assert max(network.came("h2", 1002)) < 120_000
    assert len([time for time in network.came("h3", 1000) if time < 500_000]) <= 1
    assert len(network.came("h3", 1000)) == 4
    assert {(pause.link, pause.direction, pause.pfc_class) for pause in network.events(LinkPaused)} == {
        ("h3-s1", "down", 3), ("h1-s1", "up", 3),
    }  # fmt: skip


def test_a_nic_holds_a_few_frames_of_a_paused_class_to_reach_the_others():
    network = Network(TWO_CLASSES)
    for number in range(40):
        network.send("h1", "h3", 1, 1000, at=number, layer_class=0)
    network.send("h1", "h2", 1, 1001, at=100_000, layer_class=1)
    network.send("h1", "h2", 1, 1002, at=100_001, layer_class=1)
    network.run(300_000)
    # 40 frames are offered before; the NIC takes 16 of them and then waits.
    wire = network.simulation._wires["h1-s1", "up"]
    assert wire._waiting_in(0) == wire.waiting == 16
    assert network.came("h2") == []


def test_layers_are_served_by_priority_in_lossless_queues():
    text = TWO_CLASSES.replace("mtu: 1486", "mtu: 1486, priority: layers").replace(", class: 3", ", class: 4")
    network = Network(text.replace("until: 500us", "until: 1us"))
    network.send("h1", "h3", 5, 1000, layer_class=2)
    network.send("h2", "h3", 5, 1001, layer_class=0)
    network.run(1_000_000)
    assert max(network.came("h3", 1001)) < max(network.came("h3", 1000))
    assert len(network.came("h3")) == 10


def test_weighted_classes_share_a_lossless_port_and_a_paused_one_leaves_its_share():
    """Two senders fill the link to h3: layer class 0 (PFC class 3) has weight 3, layer class 1 (PFC class 4) has 1."""
    shape = "mtu: 1486, priority: weighted, weights: [3, 1, 1, 1]"
    text = TWO_CLASSES.replace("mtu: 1486", shape).replace("until: 500us", "from: 1ms, until: 1500us")
    network = Network(text.replace("threshold: 2500B", "threshold: 20kB"))
    network.send("h1", "h3", 300, 1000, layer_class=0)
    network.send("h2", "h3", 300, 1001, layer_class=1)
    network.run(9_000_000)
    ours, others = network.came("h3", 1000), network.came("h3", 1001)
    assert (len(ours), len(others)) == (300, 300)
    first, second = (len([time for time in came if 100_000 < time <= 900_000]) for came in (ours, others))
    assert abs(first - 3 * second) <= 4
    # During the pause of class 3, class 4 has the whole link: 8 us for each frame.
    assert len([time for time in ours if 1_030_000 < time < 1_500_000]) == 0
    assert len([time for time in others if 1_030_000 < time < 1_490_000]) >= 55


def test_a_lossy_class_drops_and_pauses_nobody():
    text = TWO_CLASSES.replace("lossless: [3, 4]", "lossless: [4]").replace(", class: 3", ", class: 4")
    network = Network(text)
    for source in ("h1", "h2"):
        network.send(source, "h3", 40, 1000, layer_class=0)
    network.run(2_000_000)
    assert len(network.came("h3")) < 80
    assert not [pause for pause in network.events(LinkPaused) if pause.pfc_class != 4]
    assert not network.events(PfcDropped)
    assert sum(event.dropped for event in network.events(BufferMeasured)) == 80 - len(network.came("h3"))


def test_a_lossy_class_does_not_obey():
    text = TWO_CLASSES.replace("lossless: [3, 4]", "lossless: [4]")
    network = Network(text)
    network.send("h1", "h3", 4, 1000, layer_class=0)
    network.run(400_000)
    assert len(network.came("h3")) == 4


def test_a_slow_receiver_pauses_its_switch_and_loses_nothing():
    network = Network(
        """
topology: {kind: rack, hosts: 2, link: {rate: 1Gbps, delay: 1us, mtu: 1486}}
switch: {program: forward}
pfc: {model: static, threshold: 20kB, buffer: 1MB, receivers: {h2: 100Mbps}, receive_queue: 5kB}
"""
    )
    network.send("h1", "h2", 100, 1000)
    network.run(20_000_000)
    assert len(network.came("h2")) == 100
    # It takes 1,000 B in 80 us, from when the first came: 8 us on each wire, 1 us of delay each.
    assert network.came("h2")[-1] == 18_000 + 100 * 80_000
    roots = {(pause.link, pause.direction): pause.root for pause in network.events(LinkPaused)}
    assert roots == {("h2-s1", "down"): "receiver h2", ("h1-s1", "up"): "receiver h2"}
    of_host = next(event for event in network.events(BufferMeasured) if event.direction == "down")
    assert 0 < of_host.most_used <= of_host.headroom


@pytest.mark.parametrize("direction", ["down", "up"])
def test_faults_hit_pfc_frames_too(direction):
    """`down`: what the switch sends to h1. `up`: what h2, a slow receiver, sends to the switch."""
    link = "h1-s1" if direction == "down" else "h2-s1"
    network = Network(
        f"""
topology: {{kind: rack, hosts: 2, link: {{rate: 1Gbps, mtu: 1486}}, links: {{h2-s1: {{rate: 200Mbps}}}}}}
switch: {{program: forward}}
pfc: {{model: static, threshold: 5kB, buffer: 1MB, receivers: {{h2: 100Mbps}}, receive_queue: 5kB}}
faults: [{{kind: loss, rate: 100%, links: [{link}], direction: {direction}}}]
"""
    )
    network.send("h1", "h2", 100, 1000)
    network.run(20_000_000)
    assert network.events(FaultStruck)
    assert network.events(PfcDropped)
    assert not [pause for pause in network.events(LinkPaused) if pause.link == link]


def test_pfc_frames_are_in_captures_as_they_left_and_came():
    text = TWO_CLASSES.split("faults")[0].replace("1Gbps", "1Gbps, delay: 1us")
    tap = MemoryTap("s1", ["h1-s1", "h2-s1", "h3-s1"])
    network = Network(
        text + "faults: [{kind: pause_storm, node: h3, class: 3, from: 10us, until: 300us}]\n", {"s1": tap}
    )
    network.send("h1", "h3", 40, 1000, layer_class=0)
    network.run(3_000_000)
    seen = [(name, frame.outgoing, decode_pfc(frame.frame)) for name, frame in tap.read() if decode_pfc(frame.frame)]
    assert ("h3-s1", False, {3: 65535}) in seen
    assert ("h3-s1", False, {3: 0}) in seen
    assert ("h1-s1", True, {3: 65535}) in seen
    assert ("h1-s1", True, {3: 0}) in seen
    first = next(frame.time_ns for name, frame in tap.read() if not frame.outgoing and decode_pfc(frame.frame))
    assert first == 10_000 + 480 + 1_000


def test_flows_that_waited_are_told_apart():
    network = Network(TWO_CLASSES)
    network.send("h1", "h3", 8, 1000, layer_class=0)
    network.send("h1", "h2", 2, 1000, at=1, layer_class=0)
    network.run(2_000_000)
    waited = {event.link: event.waited_ns for event in network.events(FlowsPaused)}
    assert waited["h3-s1"].keys() == {"10.77.0.2>10.77.0.4"}
    assert waited["h1-s1"]["10.77.0.2>10.77.0.4"] > 100_000
