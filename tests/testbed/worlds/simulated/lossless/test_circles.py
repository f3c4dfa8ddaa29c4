"""Trees never deadlock. Rings of switches do, and what is found then never moves again."""

import random

import pytest

from testbed.history.pfc_events import BufferMeasured, LinkPaused, PfcDeadlocked, PfcDropped
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.world import simulate
from tests.support.scripted import Network
from workloads.events import WorkerFinished

pytestmark = pytest.mark.protocols("ring")

FRAME = 500


def network_of(switches, edges, homes, pfc):
    """`edges` between switches by number, `homes`: the switch of each host."""
    nodes = [f"{{name: s{number}, role: switch}}" for number in range(switches)]
    nodes += [f"{{name: h{number}, role: host}}" for number in range(len(homes))]
    links = [f"{{ends: [h{number}, s{home}]}}" for number, home in enumerate(homes)]
    links += [f"{{ends: [s{a}, s{b}]{more}}}" for a, b, more in edges]
    text = "topology:\n  kind: custom\n  link: {rate: 1Gbps, delay: 500ns, mtu: 1486}\n  nodes:\n"
    text += "".join(f"    - {node}\n" for node in nodes) + "  links:\n" + "".join(f"    - {link}\n" for link in links)
    return Network(text + f"switch: {{program: forward}}\npfc: {{{pfc}}}\n")


def random_tree(seed):
    """A tree of switches with hosts, thresholds of a few frames, and flows that meet."""
    draw = random.Random(seed)
    switches = draw.randint(1, 6)
    rates = ("", ", rate: 200Mbps", ", rate: 2Gbps", ", delay: 3us")
    edges = [(number, draw.randrange(number), draw.choice(rates)) for number in range(1, switches)]
    homes = [draw.randrange(switches) for _ in range(draw.randint(3, 8))]
    model = draw.choice(
        (
            f"model: static, threshold: {draw.randint(1, 6) * FRAME + draw.randint(0, 1)}B, buffer: 1MB",
            f"model: dynamic, alpha: {draw.choice((0.05, 0.3, 2))}, buffer: {draw.choice((120, 200, 400))}kB",
            "model: conweave, buffer: 200kB, headroom: 16kB",
        )
    )
    quanta = draw.choice((600, 4000, 65535))
    network = network_of(switches, edges, homes, f"{model}, quanta: {quanta}")
    expected = {f"h{number}": 0 for number in range(len(homes))}
    for _ in range(draw.randint(2, 12)):
        source, target = draw.sample(sorted(expected), 2)
        count = draw.randint(5, 40)
        network.send(source, target, count, FRAME, at=draw.randint(0, 50_000))
        expected[target] += count
    return network, expected


def check_tree(seed):
    network, expected = random_tree(seed)
    network.run(1_000_000_000)
    assert not network.events(PfcDeadlocked), seed
    assert not network.events(PfcDropped), seed
    assert {name: len(host.came) for name, host in network.hosts.items()} == expected, seed
    for name, node in network.simulation.nodes.items():
        if name.startswith("s"):
            assert not any(account.total or account.is_paused for account in node.buffer.accounts.values()), seed
            assert node.buffer.shared_used == 0
    return sum(event.pauses_sent for event in network.events(BufferMeasured))


@pytest.mark.parametrize("block", range(10))
def test_random_trees_deliver_everything_and_never_deadlock(block):
    pauses = [check_tree(seed) for seed in range(30 * block, 30 * block + 30)]
    assert sum(count > 0 for count in pauses) > 10  # or the trees would show nothing


@pytest.mark.minutes
@pytest.mark.parametrize("block", range(20))
def test_ten_thousand_random_trees(block):
    for seed in range(1_000_000 + 500 * block, 1_000_500 + 500 * block):
        check_tree(seed)


def ring(switches, hop, threshold="2kB", quanta=1000):
    edges = [(number, (number + 1) % switches, "") for number in range(switches)]
    pfc = f"model: static, threshold: {threshold}, buffer: 1MB, quanta: {quanta}"
    network = network_of(switches, edges, range(switches), pfc)
    for number in range(switches):
        network.send(f"h{number}", f"h{(number + hop) % switches}", 200, FRAME)
    return network


@pytest.mark.parametrize("switches", [5, 6, 7])
def test_a_ring_in_which_flows_take_two_links_deadlocks_with_its_circle(switches):
    network = ring(switches, 2)
    network.run(100_000_000)
    (found,) = network.events(PfcDeadlocked)
    assert len(found.cycle) == switches
    links = [text.partition(" ")[0] for text in found.cycle]
    assert len(set(links)) == switches
    for text, following in zip(links, links[1:] + links[:1], strict=True):
        assert text.partition("-")[2] == following.partition("-")[0] or {*text.split("-")} & {*following.split("-")}


def test_a_circle_is_found_at_the_end_where_no_pause_had_to_be_asked_for_again():
    network = ring(5, 2, quanta=65535)  # half of it is 16.8 ms
    # Something happens later, or the last frame could still be under way.
    network.simulation.agenda.at(9_000_000, 0, lambda _: None)
    network.run(10_000_000)
    assert len(network.events(PfcDeadlocked)) == 1


def test_what_is_found_to_be_stuck_never_moves_again():
    network = ring(5, 2)
    network.simulation.start()
    agenda = network.simulation.agenda
    agenda.run(1_000_000_000, lambda: not network.events(PfcDeadlocked))
    came = sum(len(host.came) for host in network.hosts.values())
    found_at = agenda.now
    agenda.run(found_at + 20_000, lambda: True)  # what was on its way
    still = sum(len(host.came) for host in network.hosts.values())
    agenda.run(found_at + 100_000_000, lambda: True)
    assert sum(len(host.came) for host in network.hosts.values()) == still >= came
    assert still < 5 * 200


@pytest.mark.parametrize("memory", ["shared", "own"])
def test_a_lost_packet_blocks_a_rack_whose_slots_charge_ports(memory):
    """Later results wait for the lost packet in their turn; what waits fills the port over which it must come again."""
    changes = ["pfc={model: static, threshold: 9kB, buffer: 400kB, quanta: 4000}", "job.size=200kB"]
    scenario = load_scenario("rack-lossy", [*changes, f"switch.slot_memory={memory}"], world="simulated")
    records = simulate(make_plan(scenario))
    found = [record.event for record in records if isinstance(record.event, PfcDeadlocked)]
    finished = {record.node for record in records if isinstance(record.event, WorkerFinished)}
    if memory == "own":
        assert not found
        assert len(finished) == 4
    else:
        assert all(text.endswith(" up class 3 (slots of s1)") for text in found[0].cycle)
        assert not finished


def test_flows_of_one_link_in_a_ring_do_not_deadlock():
    network = ring(5, 1)
    network.run(100_000_000)
    assert not network.events(PfcDeadlocked)
    assert all(len(host.came) == 200 for host in network.hosts.values())


def test_pauses_that_a_storm_causes_are_no_circle():
    network = Network(
        """
topology: {kind: rack, hosts: 3, link: {rate: 1Gbps, mtu: 1486}}
switch: {program: forward}
pfc: {model: static, threshold: 2kB, buffer: 1MB, quanta: 1000}
faults: [{kind: pause_storm, node: h3}]
"""
    )
    network.send("h1", "h3", 50, FRAME)
    network.send("h2", "h1", 50, FRAME)
    network.run(20_000_000)
    assert not network.events(PfcDeadlocked)
    assert {pause.root for pause in network.events(LinkPaused)} == {"storm of h3"}
    assert len(network.came("h1")) == 50
    assert len(network.came("h3")) <= 1
    assert isinstance(network.simulation._wires["h3-s1", "down"], LosslessWire)
