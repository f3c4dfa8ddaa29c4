"""Flows: what counts, what is sent again and when; and how often one ends without a packet being sent again."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.bound import packets_needed
from workloads.dlcp.flow import ReceivedFlow, SendingFlow

RTO = 100


def sending(packets: int, window: int = 64) -> SendingFlow:
    return SendingFlow(packets, window, BackoffTimer(RTO))


def leave(flow: SendingFlow, now: int) -> list[int]:
    """All that may leave."""
    found = []
    while (packet := flow.next_leaving()) >= 0:
        flow.left(packet, now)
        found.append(packet)
    return found


def test_a_flow_is_closed_by_so_many_different_packets() -> None:
    flow = ReceivedFlow(10, 3)
    assert [flow.take(packet) for packet in (9, 9, 0)] == [True, False, True]
    assert not flow.closed
    assert flow.take(4)
    assert flow.closed
    assert not flow.take(5), "what comes later does not count"
    assert (flow.counted, flow.bitmap) == (3, f"{1 << 9 | 1 << 4 | 1:x}")
    assert [flow.has(packet) for packet in (0, 5, 9)] == [True, False, True]


@given(st.lists(st.integers(0, 19), max_size=60), st.integers(1, 20))
def test_the_bitmap_is_what_came_first(arrivals: list[int], needed: int) -> None:
    flow, counted = ReceivedFlow(20, needed), dict[int, None]()
    for packet in arrivals:
        took = flow.take(packet)
        assert took == (packet not in counted and len(counted) < needed)
        if took:
            counted[packet] = None
    assert int(flow.bitmap, 16) == sum(1 << packet for packet in counted)
    assert flow.counted == len(counted)


def test_a_window_is_under_way_and_no_more() -> None:
    flow = sending(10, 4)
    assert leave(flow, 0) == [0, 1, 2, 3]
    flow.settle(2, 5)
    assert not flow.is_outstanding(2), "known"
    assert not flow.is_outstanding(9), "it never left"
    assert [flow.has_left(packet) for packet in (2, 9)] == [True, False]
    with pytest.raises(ValueError, match="packet 9 is not outstanding"):
        flow.settle(9, 6)
    assert leave(flow, 6) == [4]


def test_nothing_is_sent_again_before_each_packet_left_and_was_answered_or_late() -> None:
    flow = sending(6, 3)
    leave(flow, 0)
    assert flow.expire(RTO) == 3
    assert leave(flow, RTO) == [3, 4, 5]
    for packet in (3, 5):
        flow.settle(packet, RTO + 1)
    assert leave(flow, RTO + 1) == [], "packet 4 may be there"
    due = flow.get_timer()
    assert due is not None
    assert flow.expire(due) == 1
    assert leave(flow, due) == [0, 1, 2], "a window"
    assert flow.left(0, due) == 2, "it left twice before"
    for packet in (0, 1, 2):
        flow.settle(packet, due + 1)
    assert leave(flow, due + 1) == [4]


def test_what_was_acknowledged_late_is_not_sent_again() -> None:
    flow = sending(2)
    leave(flow, 0)
    flow.expire(RTO)
    flow.settle(0, RTO + 1)
    assert leave(flow, RTO + 2) == [1]


def test_a_stopped_flow_sends_nothing_and_waits_for_nothing() -> None:
    flow = sending(5, 2)
    leave(flow, 0)
    assert flow.get_timer() == RTO
    flow.stop()
    assert flow.over
    assert flow.get_timer() is None
    assert flow.next_leaving() < 0


def test_it_is_over_when_all_is_acknowledged() -> None:
    flow = sending(3)
    leave(flow, 0)
    for packet in range(3):
        assert not flow.over
        flow.settle(packet, 1)
    assert flow.over
    assert flow.get_timer() is None


@pytest.mark.parametrize(("bound", "chance"), [(0.0, 0.3660), (0.01, 0.7358), (0.02, 0.9206), (0.05, 0.9995)])
def test_completion_without_a_round_of_repetitions(bound: float, chance: float) -> None:
    """M = 100, each packet lost with 1 %: the closed forms (docs/dlcp.md), within 3 sigma of 10,000 flows."""
    runs, draw = 10_000, Random(f"completion {bound}")
    needed, done = packets_needed(100, bound), 0
    for _ in range(runs):
        sender, receiver = sending(100), ReceivedFlow(100, needed)
        now = 0
        while (packet := sender.next_leaving()) >= 0:
            sender.left(packet, now)
            now += 1
            if draw.random() < 0.01:
                continue
            receiver.take(packet)
            sender.settle(packet, now)
            if receiver.closed:
                sender.stop()
        assert now <= RTO
        done += sender.over
    assert abs(done / runs - chance) <= 3 * math.sqrt(chance * (1 - chance) / runs) + 5e-5, done
