"""Which packet goes when, in which slot and version, and how often."""

from __future__ import annotations

from itertools import pairwise

import pytest

from workloads.datagrams.slot_window import SlotWindow

RTO = 1000


def ready(window: SlotWindow, now: int = 0) -> list[int]:
    packets = []
    while (packet := window.take_ready()) is not None:
        window.left(packet, now)
        packets.append(packet)
    return packets


def test_w_packets_leave_and_each_result_lets_one_more_go():
    window = SlotWindow(3, RTO)
    window.start(5)
    assert ready(window) == [0, 1, 2]
    window.settle(1, 10)
    assert ready(window) == [4]
    window.settle(0, 10)
    assert ready(window) == [3]
    for packet in (2, 3, 4):
        assert not window.complete
        window.settle(packet, 20)
    assert window.complete
    assert window.get_timer() is None


def test_versions_go_on_across_tensors():
    """A tensor of a number of packets that is no multiple of 2W: its last slots are not used again in the same
    version."""
    window, seen = SlotWindow(3, RTO), []
    for packets in (4, 5, 1):
        window.start(packets)
        while not window.complete:
            for packet in ready(window):
                seen.append((window.index_of(packet), window.version_of(packet)))
                window.settle(packet, 1)
    assert seen == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 0), (1, 0), (2, 0), (0, 1)]
    for index in range(3):
        versions = [version for place, version in seen if place == index]
        assert all(one != other for one, other in pairwise(versions))


def test_what_waits_too_long_leaves_again_in_its_slot():
    window = SlotWindow(2, RTO)
    window.start(2)
    assert ready(window, 0) == [0, 1]
    assert window.get_timer() == RTO
    assert window.expire(RTO - 1) == 0
    window.settle(1, RTO - 1)
    assert window.expire(RTO) == 1
    assert ready(window, RTO) == [0]
    assert window.get_timer() == RTO + 4 * (RTO - 1)  # four times the round trip that was measured


def test_a_result_overtakes_a_repetition_that_has_not_left():
    window = SlotWindow(1, RTO)
    window.start(2)
    ready(window)
    window.expire(RTO)
    window.settle(0, RTO + 1)
    assert ready(window, RTO + 2) == [1]


def test_after_a_hundred_repetitions_the_wait_doubles_and_never_more_than_sixtyfour_fold():
    window, waits, now = SlotWindow(1, RTO), [], 0
    window.start(1)
    for _ in range(1001):
        ready(window, now)
        due = window.get_timer()
        assert due is not None
        waits.append((due - now) // RTO)
        now = due
        window.expire(now)
    assert [waits[0], waits[99], waits[100], waits[199], waits[200], waits[600], waits[1000]] == [1, 1, 2, 2, 4, 64, 64]


def test_a_few_late_packets_do_not_move_the_timer_and_a_slow_network_does():
    window, now = SlotWindow(1, RTO), 0
    window.start(10_000)

    def one(took: int) -> int:
        """The wait that the next packet is given; its result comes after `took`."""
        nonlocal now
        (packet,) = ready(window, now)
        due = window.get_timer()
        assert due is not None
        wait, now = due - now, now + took
        window.settle(packet, now)
        return wait

    for number in range(200):
        assert one(50 * RTO if number % 4 == 3 else 100) <= 2 * RTO
    for _ in range(200):
        wait = one(2 * RTO)
    assert 6 * RTO < wait < 10 * RTO
    for _ in range(200):
        wait = one(100 * RTO)
    assert wait == 16 * RTO


def test_what_may_not_leave_is_asked_about_again_once_after_a_release():
    window = SlotWindow(3, RTO)
    window.start(3)
    assert window.take_ready(lambda packet: packet == 1) == 1
    window.left(1, 0)
    assert window.take_ready(lambda packet: False) is None
    assert ready(window) == [], "nothing more may leave than before"
    window.release()
    assert ready(window) == [0, 2]
    window.release()
    assert ready(window) == []


def test_a_round_trip_is_measured_from_when_a_packet_first_left():
    window = SlotWindow(1, RTO)
    window.start(2)
    ready(window, 0)
    window.expire(RTO)
    ready(window, RTO)
    window.settle(0, RTO + 100)
    ready(window, 2000)
    assert window.get_timer() == 2000 + 4 * (RTO + 100)


def test_only_what_left_can_be_settled():
    """Sequence 0 decodes to packet -1, which is a number and not the sign for an empty place."""
    window = SlotWindow(4, RTO)
    window.start(3)
    for never_left in (-5, -4, -1, 0, 1, 2, 3, 4, 7):
        assert not window.is_outstanding(never_left)
        with pytest.raises(ValueError, match="not outstanding"):
            window.settle(never_left, 1)
    assert window.take_ready() == 0
    window.left(0, 2)
    window.settle(0, 3)
    with pytest.raises(ValueError, match="packet 0 is not outstanding"):
        window.settle(0, 4)
    assert ready(window) == [1, 2]
    assert not window.complete


def test_a_clock_may_show_less_than_zero():
    """A deadline of -1 is a time, and not the sign for none."""
    window = SlotWindow(1, RTO)
    window.start(1)
    assert ready(window, -RTO - 1) == [0]
    assert window.get_timer() == -1
    assert window.expire(-1) == 1
    assert window.get_timer() is None
