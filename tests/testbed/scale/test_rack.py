"""The levels among themselves and against closed forms: schedules, knee, stragglers."""

import pytest

from testbed.protocols.binomial_tree.scale import binomial_tree_messages
from testbed.protocols.netreduce.scale_messages import netreduce_on_rack
from testbed.protocols.rabenseifner.scale import halving_doubling_messages
from testbed.protocols.ring.scale import ring_messages
from testbed.scale.messages import Message, rack_path, run_messages
from testbed.scale.model import RackLink, RackPoint
from testbed.scale.rack import flow_level, message_level, rack_models
from testbed.scale.trains import PLAIN, TrainFraming
from workloads.costs import flat_cost, sent_bytes
from workloads.errors import ScenarioError

GBPS = 10**9


@pytest.mark.parametrize("protocol", list(rack_models()))
@pytest.mark.parametrize("hosts", [2, 4, 8])
@pytest.mark.parametrize("delay", [0, 20_000])
def test_flow_and_message_level_agree(protocol, hosts, delay):
    point = RackPoint(hosts, 1_000_000, 10 * GBPS, delay, 64, 4)
    assert flow_level(protocol, point).seconds == pytest.approx(message_level(protocol, point).seconds, rel=0.05)


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        ("ring", lambda n, size: ring_messages(n, size, 170, 1024)),
        ("rabenseifner", halving_doubling_messages),
        ("binomial_tree", binomial_tree_messages),
    ],
)
@pytest.mark.parametrize("hosts", [2, 4, 8, 16])
def test_schedules_send_the_bytes_and_take_the_time_of_their_cost_model(name, schedule, hosts):
    size, rate, alpha_ns = 1 << 22, 10 * GBPS, 100_000
    links = [RackLink(rate, alpha_ns / 2)] * hosts
    outcome = run_messages(schedule(hosts, size), rack_path(links), PLAIN)
    assert outcome.sent_bytes == sent_bytes(name, hosts, size)
    cost = flat_cost(name).seconds(hosts, size, rate, alpha_ns / 1e9)
    if name == "ring":
        # Pieces hide latency behind the rest of their chunk.
        assert 2 * (hosts - 1) / hosts * size * 8 / rate < outcome.seconds < cost * 1.05
    else:
        assert outcome.seconds == pytest.approx(cost, rel=0.05)


@pytest.mark.parametrize("hosts", [3, 5, 6, 7])
def test_trees_of_any_size_and_halves_of_powers_of_two(hosts):
    sent = [message.sender for message in binomial_tree_messages(hosts, 100)]
    assert len(sent) == 2 * (hosts - 1)
    assert message_level("tree", RackPoint(hosts, 100_000, GBPS)).seconds > 0
    for level in (message_level, flow_level):
        with pytest.raises(ScenarioError, match="halving_doubling needs a power of two of ranks"):
            level("halving_doubling", RackPoint(hosts, 100_000, GBPS))


@pytest.mark.parametrize("delay_us", [10, 100, 500])
@pytest.mark.parametrize("window", [1, 2, 3, 4])
@pytest.mark.parametrize("packets", [2, 8, 32])
def test_knee(window, packets, delay_us):
    """Full rate if and only if (N-1) T_msg >= R, else N T_msg / (T_msg + R) of it (protocol text, section 8)."""
    rate, count = 100_000_000, 60
    links = [RackLink(rate, delay_us * 1000)] * 2
    size = count * (packets * 1024 - 16)

    def took(messages):
        return netreduce_on_rack(
            links, size * messages // count, message_packets=packets, window_messages=window, credit="received"
        ).seconds

    frame = 1082 * 8 / rate
    t_msg, back = packets * frame, 2 * delay_us / 1e6 + frame
    bound = count // 2 * max(t_msg, (t_msg + back) / window)
    assert took(count) - took(count // 2) == pytest.approx(bound, rel=0.1)


def test_a_straggler_and_a_slow_link_hold_everybody():
    links = [RackLink(GBPS)] * 4
    plain = netreduce_on_rack(links, 1_000_000).seconds
    late = netreduce_on_rack(links, 1_000_000, starts_ns=[0, 0, 5e6, 0]).seconds
    assert late == pytest.approx(plain + 5e-3, rel=0.01)
    slow = netreduce_on_rack([*links[:3], RackLink(GBPS / 4)], 1_000_000).seconds
    assert slow == pytest.approx(4 * plain, rel=0.05)


def test_senders_that_meet_on_one_link_share_it():
    links = [RackLink(GBPS)] * 4
    three = [Message(sender, 3, 125_000) for sender in range(3)]
    outcome = run_messages(three, rack_path(links), TrainFraming(headers=False))
    assert outcome.seconds == pytest.approx(3e-3, rel=0.02)


def test_messages_that_wait_for_one_another_are_told():
    wrong = [Message(0, 1, 10, (1,)), Message(1, 0, 10, (0,))]
    with pytest.raises(ValueError, match="2 messages wait for one another for ever"):
        run_messages(wrong, rack_path([RackLink(GBPS)] * 2), PLAIN)
