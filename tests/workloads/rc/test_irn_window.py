"""The sender of IRN, number by number: each rule of `irn_window` has its case."""

from __future__ import annotations

import pytest

from workloads.rc.irn_window import SenderWindow

END = 1000


def sent(count: int, cap: int = 100, *, in_order: bool = True) -> SenderWindow:
    window = SenderWindow(0, cap, in_order=in_order)
    assert leave(window, count) == list(range(count))
    return window


def leave(window: SenderWindow, most: int = END) -> list[int]:
    """What leaves now, at most so many packets."""
    gone: list[int] = []
    while len(gone) < most and (sequence := window.upcoming(END)) is not None:
        window.left(sequence)
        gone.append(sequence)
    return gone


def gaps(window: SenderWindow, cumulative: int, *selective: int) -> None:
    for sequence in selective:
        window.heard(True, cumulative, sequence)


def test_only_what_is_lost_is_sent_again() -> None:
    window = sent(10, cap=10)
    window.heard(False, 3, 2)
    gaps(window, 3, 4, 5)
    assert leave(window, 1) == [3]
    assert window.recovering
    gaps(window, 3, 6, 7, 8, 9)
    assert leave(window) == [10, 11, 12], "3 leaves once, and holes alone are sent again"
    assert window.heard(False, 10, 3)
    assert not window.recovering


def test_each_hole_below_a_packet_that_arrived_is_sent_again_once() -> None:
    window = sent(10, cap=10)
    gaps(window, 0, 1, 3, 5)
    assert leave(window) == [0, 2, 4]
    gaps(window, 0, 6, 7)
    assert leave(window) == []
    gaps(window, 0, 9)
    assert leave(window) == [8], "the highest selective answer shows one more"


def test_a_hole_above_all_that_arrived_is_no_hole() -> None:
    window = sent(10, cap=10)
    gaps(window, 0, 1)
    assert leave(window) == [0]
    assert window.upcoming(END) is None, "2 to 9 may be on their way"


def test_a_packet_that_arrives_before_its_turn_is_not_sent_again() -> None:
    window = sent(10, cap=10)
    gaps(window, 0, 1, 3, 5)
    assert leave(window, 1) == [0]
    gaps(window, 0, 2)  # is due, and was only late
    assert leave(window) == [4]


def test_a_gap_in_an_answer_with_news_opens_nothing_yet() -> None:
    """The packet in front of the selective one may be on its way: the next answer tells."""
    window = sent(10, cap=10)
    window.heard(True, 2, 4)
    assert window.upcoming(2) is None
    assert leave(window) == [10, 11]
    gaps(window, 2, 5)
    assert leave(window) == [2, 3]


def test_a_recovery_ends_when_all_that_had_left_is_acknowledged() -> None:
    window = sent(6, cap=10)
    gaps(window, 0, 1)
    assert leave(window) == [0, 6, 7, 8, 9]
    window.heard(False, 5, 0)
    assert window.recovering, "5 had left too"
    window.heard(False, 6, 5)
    assert not window.recovering


def test_a_partial_answer_in_a_recovery_shows_the_next_hole() -> None:
    window = sent(8, cap=8)
    gaps(window, 0, 1, 2)
    assert leave(window, 1) == [0]
    window.heard(False, 3, 0)
    assert leave(window, 1) == [3]


def test_a_partial_answer_does_not_repeat_what_was_sent_again() -> None:
    window = sent(8, cap=8)
    gaps(window, 0, 1, 3)
    assert leave(window) == [0, 2]
    window.heard(False, 2, 0)
    assert leave(window) == [8, 9]


def test_what_is_lost_again_waits_for_the_timer() -> None:
    window = sent(8, cap=8)
    gaps(window, 0, 1, 2)
    assert leave(window) == [0]
    gaps(window, 0, 3, 4, 5, 6, 7)
    assert leave(window) == []
    window.schedule_oldest()
    assert leave(window) == [0]


def test_a_timer_sends_one_packet_again_and_its_answer_the_next() -> None:
    window = sent(8, cap=8)
    window.timed_out()
    assert leave(window) == [0]
    window.heard(False, 1, 0)
    assert leave(window) == [1, 8]


def test_where_packets_wait_in_the_network_its_answer_says_nothing_of_the_next() -> None:
    window = sent(8, cap=8, in_order=False)
    window.timed_out()
    assert leave(window) == [0]
    window.heard(False, 1, 0)
    assert leave(window, 1) == [8]


@pytest.fixture
def twice_timed_out() -> SenderWindow:
    """The first timer brought packet 0; nothing else came. Packets 1 to 8 are in flight."""
    window = sent(8, cap=8, in_order=False)
    window.timed_out()
    leave(window)
    window.heard(False, 1, 0)
    assert leave(window) == [8]
    window.timed_out()
    return window


def test_a_second_timer_after_one_packet_takes_everything_in_flight_for_lost(twice_timed_out: SenderWindow) -> None:
    assert leave(twice_timed_out) == [1, 2, 3, 4, 5, 6, 7, 8], "each once"


def test_what_arrives_meanwhile_is_not_sent_again(twice_timed_out: SenderWindow) -> None:
    assert leave(twice_timed_out, 2) == [1, 2]
    gaps(twice_timed_out, 1, 5)
    assert leave(twice_timed_out, 1) == [3]
    twice_timed_out.heard(False, 6, 4)
    assert leave(twice_timed_out, 3) == [6, 7, 8]


def test_what_had_left_before_the_second_timer_alone_is_taken_for_lost(twice_timed_out: SenderWindow) -> None:
    assert leave(twice_timed_out, 1) == [1]
    twice_timed_out.heard(False, 9, 8)
    assert not twice_timed_out.recovering
    assert leave(twice_timed_out) == list(range(9, 17))
    gaps(twice_timed_out, 9, 10)
    assert leave(twice_timed_out) == [9], "11 to 16 may be on their way"


@pytest.mark.parametrize("arrived", [(1, 4), (2, 1)])
def test_a_second_timer_after_more_than_that_sends_one_packet_again(arrived: tuple[int, int]) -> None:
    """Something behind it arrived, or two packets in order."""
    window = sent(8, cap=8, in_order=False)
    window.timed_out()
    assert leave(window) == [0]
    cumulative, selective = arrived
    window.heard(selective > cumulative, cumulative, selective)
    leave(window)
    window.timed_out()
    assert leave(window, 8)[0] == cumulative
    window.heard(True, cumulative, 4)
    assert 5 not in leave(window)


def test_a_timer_after_that_sends_one_packet_again(twice_timed_out: SenderWindow) -> None:
    """The link may be down."""
    assert leave(twice_timed_out) == [1, 2, 3, 4, 5, 6, 7, 8]
    twice_timed_out.timed_out()
    assert leave(twice_timed_out) == [1]


def test_a_timer_again_for_the_same_packet_sends_it_alone() -> None:
    window = sent(8, cap=8, in_order=False)
    for _ in range(3):
        window.timed_out()
        assert leave(window) == [0]


@pytest.mark.parametrize("cap", [1, 2, 7])
def test_no_more_than_the_cap_is_unacknowledged(cap: int) -> None:
    window = SenderWindow(0, cap)
    assert leave(window) == list(range(cap))
    window.heard(False, 1, 0)
    assert leave(window) == [cap]


def test_an_answer_that_was_overtaken_shows_no_gap() -> None:
    window = sent(8, cap=8)
    window.heard(False, 5, 4)
    gaps(window, 1, 3)
    assert leave(window) == [8, 9, 10, 11, 12]
    window.heard(False, 13, 12)
    gaps(window, 11, 12)
    assert window.upcoming(13) is None, "nothing is in flight"


def test_an_answer_that_was_overtaken_still_tells_what_arrived() -> None:
    window = sent(8, cap=8)
    window.heard(False, 5, 4)
    gaps(window, 1, 6)
    gaps(window, 5, 7)
    assert leave(window, 2) == [5, 8]


def test_the_bitmap_moves_with_the_oldest_packet() -> None:
    window = sent(10, cap=10)
    gaps(window, 0, 2, 4)
    assert leave(window) == [0, 1, 3]
    window.heard(False, 3, 1)
    gaps(window, 3, 6)
    assert leave(window, 1) == [5]
    assert window.in_flight == 7


def test_what_arrived_is_not_sent_again_because_a_copy_of_it_was_trimmed() -> None:
    window = SenderWindow(100, 8)
    for sequence in range(100, 105):
        window.left(sequence)
    window.heard(True, 100, 102)
    window.trimmed(100, 102)
    window.trimmed(101, 100)
    assert window.was_trimmed(101) is False
    window.trimmed(101, 103)
    assert window.upcoming(105) == 103


def test_what_came_without_its_payload_halves_what_may_be_unacknowledged_once_for_all_that_left_before() -> None:
    window = sent(16, cap=16)
    for sequence in range(16):
        window.trimmed(0, sequence)
    assert leave(window) == list(range(16)), "what is asked for leaves at once"
    window.heard(False, 7, 6)
    assert leave(window) == [], "9 are unacknowledged, of 8"
    window.heard(False, 8, 7)
    assert leave(window) == [16], "8 were acknowledged: 9 may be under way"
    window.trimmed(8, 16)
    window.heard(False, 12, 11)
    assert leave(window) == [16], "5 are unacknowledged; halved again, 4, and one more for 4"
    window.heard(False, 13, 12)
    assert leave(window) == [17]


def test_it_never_falls_below_two_and_grows_up_to_the_cap() -> None:
    window = sent(3, cap=3)
    window.trimmed(0, 2)
    assert leave(window) == [2]
    for number in range(3):
        window.heard(False, number + 1, number)
    assert leave(window, 10) == [3, 4, 5], "2, and one more after 2 were acknowledged"
    for number in range(3, 30):
        window.heard(False, number + 1, number)
        leave(window)
    assert window.in_flight == 3
