"""The fast paths against the packet level (the real Machines and frames): within 5 % where both run."""

import random

import pytest

from testbed.scale.model import RackPoint
from testbed.scale.packet import packet_level
from testbed.scale.rack import flow_level, message_level

GBPS = 10**9
LIMIT = 0.05


def _drawn(protocol, count, seed):
    """Points of all kinds: latency or rate decides, the window is shut or not, short last messages."""
    draw = random.Random(f"{protocol} {seed}")
    for _ in range(count):
        yield RackPoint(
            hosts=draw.randint(2, 8),
            size_bytes=4 * draw.randint(1, 20_000),
            rate_bps=draw.choice([GBPS // 10, GBPS, 10 * GBPS, 25 * GBPS]),
            delay_ns=draw.choice([0, 1_000, 5_000, 50_000, 300_000]),
            message_packets=draw.choice([1, 2, 3, 5, 16, 40, 170]),
            window_messages=draw.choice([1, 2, 3, 4, 7]),
        )


@pytest.mark.parametrize("protocol", ["netreduce", "ring"])
def test_the_message_level_at_drawn_points(protocol):
    for point in _drawn(protocol, 12, 1):
        ratio = message_level(protocol, point).seconds / packet_level(protocol, point).seconds
        assert abs(ratio - 1) < LIMIT, (point, ratio)


@pytest.mark.parametrize("mtu", [256, 4096])
@pytest.mark.parametrize("protocol", ["netreduce", "ring"])
def test_the_message_level_at_other_packet_sizes(protocol, mtu):
    point = RackPoint(4, 60_000, GBPS, 10_000, 16, 2, mtu)
    ratio = message_level(protocol, point).seconds / packet_level(protocol, point).seconds
    assert abs(ratio - 1) < LIMIT


@pytest.mark.parametrize("protocol", ["netreduce", "ring"])
@pytest.mark.parametrize("hosts", [2, 5, 8])
@pytest.mark.parametrize(("rate", "delay"), [(GBPS, 0), (10 * GBPS, 5_000), (25 * GBPS, 20_000)])
def test_the_flow_level(protocol, hosts, rate, delay):
    """Messages of several packets; a ring whose window of 512 packets is not what holds it."""
    point = RackPoint(hosts, 200_000, rate, delay, message_packets=32, window_messages=4)
    ratio = flow_level(protocol, point).seconds / packet_level(protocol, point).seconds
    assert abs(ratio - 1) < LIMIT


@pytest.mark.parametrize("protocol", ["netreduce", "ring"])
def test_the_message_level_stands_for_the_packets_that_really_pass(protocol):
    """Equal but for the ACKs that a faster wire merges."""
    point = RackPoint(4, 200_000, GBPS, 1_000, 32, 2)
    assert message_level(protocol, point).packet_hops == pytest.approx(
        packet_level(protocol, point).packet_hops, rel=0.02
    )
