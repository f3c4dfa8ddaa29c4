"""The sender of `irn-rack`, number by number and ns by ns, and under any schedule of a network that drops, doubles and
swaps."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from workloads.rc.rack_window import RackWindow

END, RTT, MOST = 1000, 1000, 4000


def sent(count: int, *, step: int = 10, cap: int = 100, most: int = MOST, in_order: bool = True) -> RackWindow:
    """Packets 0 .. count-1 left, one each `step` ns, from 0 on."""
    window = RackWindow(0, cap, most, in_order=in_order)
    for number in range(count):
        window.now = number * step
        assert window.upcoming(END) == number
        window.left(number)
    return window


def leave(window: RackWindow, end: int = END) -> list[int]:
    gone: list[int] = []
    while (sequence := window.upcoming(end)) is not None:
        window.left(sequence)
        gone.append(sequence)
    return gone


def gap(window: RackWindow, at: int, selective: int, cumulative: int = 0) -> None:
    window.now = at
    window.heard(True, cumulative, selective)


def wake(window: RackWindow, at: int) -> None:
    window.now = at
    window.detect()


def overtaken(late: int) -> RackWindow:
    """Packet 0 was answered that long after a round trip was over; 1 in time. Nothing is in flight."""
    window = sent(2)
    gap(window, RTT + 10, 1)
    window.now = RTT + late
    window.heard(False, 2, 0)
    return window


def test_before_any_reordering_three_packets_behind_a_hole_say_that_it_is_lost() -> None:
    window = sent(6)
    gap(window, RTT + 10, 1)
    gap(window, RTT + 20, 2)
    assert leave(window, 6) == []
    gap(window, RTT + 30, 3)
    assert leave(window, 6) == [0]


def test_fewer_wait_for_a_quarter_of_the_shortest_round_trip() -> None:
    window = sent(2)
    gap(window, RTT + 10, 1)
    assert window.timer == RTT + RTT // 4  # 0 left at 0
    wake(window, RTT + RTT // 4 - 1)
    assert leave(window, 2) == []
    wake(window, RTT + RTT // 4)
    assert leave(window, 2) == [0]


def test_what_left_after_the_newest_that_was_delivered_is_not_lost() -> None:
    window = sent(9)
    for selective in (1, 2, 3):
        gap(window, RTT + 10 * selective, selective)
    assert leave(window, 9) == [0]
    wake(window, 50 * RTT)
    assert leave(window, 9) == [], "4 to 8 may be on their way, or wait for a timer"


def test_what_was_only_late_is_waited_for_from_then_on() -> None:
    window = overtaken(300)
    for number in (2, 3, 4, 5, 6):
        window.now = 10_000 + number
        window.left(number)
    for selective in (3, 4, 5, 6):
        gap(window, 11_000 + selective, selective, 2)
    due = 10_000 + 2 + RTT + 300 + RTT // 4
    assert window.timer == due
    assert leave(window, 7) == []
    wake(window, due)
    assert leave(window, 7) == [2]


def test_the_window_has_an_end() -> None:
    window = overtaken(100 * RTT)
    for number in (2, 3):
        window.now = 200_000
        window.left(number)
    gap(window, 200_000 + RTT, 3, 2)
    assert window.timer == 200_000 + RTT + MOST


def test_what_was_late_long_ago_is_forgotten() -> None:
    window = overtaken(300)
    for number in range(2, 600):
        window.now = 10_000 + number
        window.left(number)
        window.now += RTT
        window.heard(False, number + 1, number)
    for number in (600, 601):
        window.now = 20_000
        window.left(number)
    gap(window, 20_000 + RTT, 601, 600)
    assert window.timer == 20_000 + RTT + RTT // 4


def test_what_was_sent_again_and_is_lost_again_is_found_without_a_timer_of_irn() -> None:
    window = sent(6)
    for selective in (1, 2, 3):
        gap(window, RTT + 10 * selective, selective)
    assert leave(window)[:2] == [0, 6]
    gap(window, 2 * RTT + 30, 6)
    wake(window, 3 * RTT)
    assert leave(window)[0] == 0


def test_where_packets_wait_in_the_network_a_repetition_that_was_overtaken_leaves_again() -> None:
    window = sent(6, in_order=False)
    for selective in (1, 2, 3):
        gap(window, RTT + 10 * selective, selective)
    assert leave(window, 8) == [0, 6, 7]
    gap(window, 2 * RTT + 30, 6)
    assert leave(window, 8) == [0, 4, 5]
    wake(window, 50 * RTT)
    assert leave(window, 8) == [], "nothing that left later is known to have arrived"
    window.timed_out()
    assert leave(window, 8) == [0, 4, 5], "every hole below what arrived"


def test_where_packets_wait_in_the_network_a_repetition_shows_that_the_oldest_alone_was_lost_again() -> None:
    """Or repetitions of packets that wait would bring each other about."""
    window = sent(7, in_order=False)
    for selective in (3, 4, 5):
        gap(window, RTT + 10 * selective, selective)
    assert leave(window, 7) == [0, 1, 2]
    gap(window, 2 * RTT + 49, 2)
    assert leave(window, 7) == []
    gap(window, 2 * RTT + 49, 6)
    wake(window, 50 * RTT)
    assert leave(window, 7) == [], "sooner than any round trip: an answer to the first copy"
    window = sent(7, in_order=False)
    for selective in (3, 4, 5):
        gap(window, RTT + 10 * selective, selective)
    assert leave(window, 7) == [0, 1, 2]
    gap(window, 2 * RTT + 50, 2)
    wake(window, 50 * RTT)
    assert leave(window, 7) == [0]


def test_an_answer_sooner_than_any_round_trip_is_about_the_first_copy() -> None:
    """So it was late and not lost, by as much as is measured; and nothing that left before the second copy counts as
    overtaken by it."""
    window = sent(6)
    for selective in (1, 2, 3):
        gap(window, RTT + 10 * selective, selective)
    assert leave(window, 6) == [0]
    window.now = RTT + 30 + 400
    window.heard(False, 4, 0)
    wake(window, 50 * RTT)
    assert leave(window, 6) == []
    for number in (6, 7):
        window.now = 100_000
        window.left(number)
    gap(window, 100_000 + RTT, 7, 6)
    assert window.timer == 100_000 + RTT + 430 + RTT // 4


def test_a_second_answer_about_what_was_sent_twice_widens_the_window() -> None:
    window = sent(6)
    for selective in (1, 2, 3):
        gap(window, RTT + 10 * selective, selective)
    assert leave(window, 6) == [0]
    window.now = 3 * RTT
    window.heard(False, 4, 0)
    window.now += 1
    window.heard(False, 6, 0)
    for number in (6, 7):
        window.now = 100_000
        window.left(number)
    gap(window, 100_000 + RTT, 7, 6)
    assert window.timer == 100_000 + RTT + 2 * (RTT // 4)


def test_a_hole_that_fills_before_its_turn_is_not_sent_again() -> None:
    window = sent(6)
    for selective in (1, 2, 3):
        gap(window, RTT + 10 * selective, selective)
    window.heard(False, 4, 0)
    assert leave(window, 6) == []


@pytest.mark.parametrize("in_order", [True, False])
def test_a_timer_s_packet_that_arrives_alone_shows_a_burst_of_losses(in_order: bool) -> None:
    window = sent(6, in_order=in_order)
    window.now = 10 * RTT
    window.timed_out()
    assert leave(window, 6) == [0]
    window.now = 11 * RTT
    window.heard(False, 1, 0)
    if not in_order:
        assert leave(window, 6) == [], "they may wait in the network"
        window.now = 20 * RTT
        window.timed_out()
    assert leave(window, 6) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("cap", [1, 2, 7])
def test_no_more_than_the_cap_is_unacknowledged(cap: int) -> None:
    window = RackWindow(0, cap, MOST)
    assert leave(window) == list(range(cap))
    window.heard(False, 1, 0)
    assert leave(window) == [cap]


class AnyNetwork(RuleBasedStateMachine):
    """A receiver as a set, and a network that holds copies and answers and hands them over in any order, or never."""

    def __init__(self) -> None:
        super().__init__()
        self.cap, self.end = 8, 40
        self.window = RackWindow(0, self.cap, MOST)
        self.now = 0
        self.data: list[int] = []
        self.answers: list[tuple[bool, int, int]] = []
        self.here: set[int] = set()
        self.known: set[int] = set()
        """what answers that were heard said to be there"""
        self.newest_known = -1
        self.places: dict[int, int] = {}
        """of the last copy of each, among all that left"""
        self.firsts: dict[int, list[int]] = {}
        self.left = 0
        self.timed_out: set[int] = set()
        self.waited_for = -2
        """the oldest when the timer before was over"""

    @property
    def expected(self) -> int:
        return next(number for number in range(self.end + 1) if number not in self.here)

    @rule(ns=st.integers(0, 2 * MOST))
    def wait(self, ns: int) -> None:
        self.now += ns
        self.window.now = self.now
        self.window.detect()

    @rule(most=st.integers(1, 8))
    def send(self, most: int) -> None:
        self.window.now = self.now
        for _ in range(most):
            number = self.window.upcoming(self.end)
            if number is None:
                return
            assert number not in self.known, "sent again, and known to be there"
            if number in self.places and number not in self.timed_out:
                assert self.places[number] < self.newest_known, "nothing that left after it is known to be there"
            self.timed_out.discard(number)
            self.window.left(number)
            self.left += 1
            self.places[number] = self.left
            self.firsts.setdefault(number, []).append(self.left)
            self.data.append(number)

    @precondition(lambda self: self.data)
    @rule(at=st.integers(0, 1 << 16), keep=st.booleans())
    def deliver(self, at: int, keep: bool) -> None:
        """`keep`: the network doubles it."""
        number = self.data[at % len(self.data)] if keep else self.data.pop(at % len(self.data))
        self.here.add(number)
        self.answers.append((number > self.expected, self.expected, number))

    @precondition(lambda self: self.data)
    @rule(at=st.integers(0, 1 << 16))
    def drop(self, at: int) -> None:
        self.data.pop(at % len(self.data))

    @precondition(lambda self: self.answers)
    @rule(at=st.integers(0, 1 << 16), ns=st.integers(0, RTT))
    def answer(self, at: int, ns: int) -> None:
        is_gap, cumulative, selective = self.answers.pop(at % len(self.answers))
        self.now += ns
        self.window.now = self.now
        before = self.window.una
        new = self.window.heard(is_gap, cumulative, selective)
        assert new == (cumulative > before)
        self.known |= {selective, *range(cumulative)}
        self.newest_known = max(self.newest_known, *self.firsts[selective])

    @precondition(lambda self: self.answers)
    @rule(at=st.integers(0, 1 << 16))
    def drop_answer(self, at: int) -> None:
        self.answers.pop(at % len(self.answers))

    @precondition(lambda self: self.window.in_flight)
    @rule()
    def time_out(self) -> None:
        self.window.now = self.now
        una = self.window.una
        self.window.timed_out()
        self.timed_out |= {una}
        if self.waited_for == una - 1 and not any(number in self.known for number in range(una, self.end)):
            self.timed_out |= set(range(una, self.window.nxt))
        self.waited_for = una

    @invariant()
    def in_the_cap(self) -> None:
        assert 0 <= self.window.in_flight <= self.cap
        assert self.window.una <= self.expected

    @invariant()
    def no_timer_runs_longer_than_the_window(self) -> None:
        """So that what an answer tells of is found at most `MOST` after it."""
        if self.window.timer is not None:
            assert self.window.timer <= self.now + MOST

    def teardown(self) -> None:
        """From here on nothing is lost: everything arrives, by timers where nothing else helps."""
        for _ in range(20 * self.end):
            if self.window.una == self.end:
                return
            self.send(self.cap)
            while self.data:
                self.deliver(0, keep=False)
            while self.answers:
                self.answer(0, RTT)
            if self.window.in_flight:
                self.time_out()
        raise AssertionError(f"{self.window.una} of {self.end} arrived")


AnyNetwork.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestAnyNetwork = AnyNetwork.TestCase


def test_what_came_without_its_payload_halves_what_may_be_unacknowledged() -> None:
    window = sent(16, cap=16)
    window.now = RTT
    window.trimmed(0, 15)
    window.heard(False, 7, 6)
    assert leave(window) == [15], "9 are unacknowledged, of 8"
    window.heard(False, 8, 7)
    assert leave(window) == [16], "8 were acknowledged: 9 may be under way"


def test_a_probe_leaves_after_two_mean_round_trips() -> None:
    window = sent(3)
    assert window.probe_ns is None
    window.now = RTT
    window.heard(False, 1, 0)
    assert window.probe_ns == 2 * RTT
    window.now = 9 * RTT + 10
    window.heard(False, 2, 1)
    assert window.probe_ns == 2 * (RTT + 8 * RTT // 8)
    assert window.probe()
    assert leave(window, 3) == [2]
    assert sent(3, in_order=False).probe_ns is None


def test_a_probe_is_the_newest_packet_that_did_not_arrive() -> None:
    window = sent(4)
    gap(window, RTT + 30, 3)
    assert window.probe()
    assert leave(window, 4) == [2]
    gap(window, 2 * RTT + 30, 2)
    wake(window, 4 * RTT)
    assert leave(window, 4) == [0, 1], "its answer shows what else is lost"
    assert window.probe()
    assert not window.probe(), "one leaves already"


@pytest.mark.parametrize(("expired_at", "resent"), [(None, [0, 1, 2]), (RTT + 500, [0, 2]), (RTT + 501, [0, 1, 2])])
def test_an_expired_timer_leaves_alone_what_left_since(expired_at: int | None, resent: list[int]) -> None:
    """The reorder window held IRN's timer up and found packet 1: it left again at RTT + 500."""
    window = sent(4, in_order=False)
    gap(window, RTT + 30, 3)
    leave(window, 4)
    window.now = RTT + 500
    window.left(1)
    window.now, window.expired_at = RTT + 600, expired_at
    window.timed_out()
    assert leave(window, 4) == resent
