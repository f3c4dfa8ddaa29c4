"""Trains against the same packets one by one."""

import itertools
import random

import pytest

from testbed.scale.trains import PLAIN, Pipe, TrainFraming


@pytest.mark.parametrize(
    ("size", "packets", "wire"),
    [(16, 1, 78 + 16), (1024, 1, 78 + 1024), (1025, 2, 74 + 1024 + 62 + 4), (4096, 4, 4 * (58 + 1024) + 20)],
)
def test_frames_of_a_message(size, packets, wire):
    train = TrainFraming().train(size)
    assert (train.packets, train.wire_bytes) == (packets, wire)


@pytest.mark.parametrize(("packets", "acks"), [(1, 1), (16, 1), (17, 2), (64, 4), (170, 11)])
def test_acks_of_a_message(packets, acks):
    """Every 16 packets and at the end."""
    assert TrainFraming().train(packets * 1024).acks == acks


def _one_by_one(times, free, ns, size):
    """When frames that come at `times` have left, first come first served."""
    for time in times:
        free = max(free, time) + size * ns
        yield free


@pytest.mark.parametrize("seed", range(30))
def test_a_train_leaves_as_its_packets_would(seed):
    draw = random.Random(seed)
    count, gap, busy = draw.randint(2, 40), draw.uniform(0, 20), draw.uniform(0, 300)
    rate = draw.choice([1e8, 1e9])
    pipe = Pipe(rate, 7.0)
    pipe.free = busy
    begin = draw.uniform(0, 300)
    times = [begin + gap * index for index in range(count)]
    left = list(_one_by_one(times, busy, 8e9 / rate, 1024))
    first, last = pipe.carry(times[0], times[-1], PLAIN.train(count * 1024))
    assert first == pytest.approx(left[0] + 7)
    assert last == pytest.approx(left[-1] + 7)


def test_the_slowest_of_several_paces_decides():
    """What a switch that sums sees: packet k is there when the last of its copies is."""
    slow, fast = [100.0 + 10 * k for k in range(10)], [160.0 + 2 * k for k in range(10)]
    times = [max(pair) for pair in zip(slow, fast, strict=True)]
    left = list(_one_by_one(times, 0.0, 1.0, 4))
    pipe = Pipe(8e9)
    train = TrainFraming(path_mtu=4, headers=False).train(40)
    assert pipe.carry(times[0], times[-1], train)[1] == pytest.approx(left[-1])


def test_small_frames_between_large_ones():
    pipe = Pipe(8e9)  # a byte is a nanosecond
    pipe.carry(0, 0, PLAIN.train(4096))
    assert pipe.carry_urgent(1500, 60) == pytest.approx(2048 + 60)  # in front of the third packet
    assert pipe.free == pytest.approx(4096 + 60)
    assert pipe.carry_urgent(9000, 60) == pytest.approx(9060)
    queue = Pipe(8e9)
    queue.carry(0, 0, PLAIN.train(4096))  # all four packets are there at once
    assert queue.carry_behind(100, 60) >= 1024 + 60
    assert queue.carry_behind(9000, 60) == pytest.approx(9060)


def test_burdens_count_on_busy_links_only():
    pipe = Pipe(8e9)
    pipe.burden(5, 100)
    assert pipe.free == 0
    for _ in itertools.repeat(None, 2):
        pipe.carry(0, 0, PLAIN.train(1024))
    pipe.burden(5, 100)
    assert pipe.free == pytest.approx(2148)
