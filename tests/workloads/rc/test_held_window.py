"""The sender of `irn-held`, number by number."""

from __future__ import annotations

from workloads.rc.held_window import REMEMBERED, HeldWindow


def sent(count: int, first: int = 100, cap: int = 20) -> HeldWindow:
    window = HeldWindow(first, cap)
    for sequence in range(first, first + count):
        assert window.upcoming(first + count) == sequence
        window.left(sequence)
    return window


def due(window: HeldWindow) -> list[int]:
    """What leaves again, in order."""
    found = []
    while (sequence := window.upcoming(window.nxt)) is not None:
        found.append(sequence)
        window.left(sequence)
    return found


def test_a_clear_bit_below_the_newest_is_a_loss_and_a_set_one_none():
    window = sent(8)
    window.heard(True, 100, 106)
    window.told(100, 7, 0b1000101, 106)
    assert due(window) == [101, 103, 104, 105]


def test_what_left_after_the_newest_is_on_its_way():
    window = sent(8)
    window.told(100, 8, 0, 103)
    assert due(window) == [100, 101, 102, 103]


def test_what_is_lost_again_is_sent_again_when_something_later_came():
    window = sent(8)
    window.told(101, 1, 0, 106)
    assert due(window) == [101]
    window.told(101, 1, 0, 107)
    assert due(window) == [], "107 left before the copy of 101"
    window.told(103, 1, 0, 107)
    assert due(window) == [103]
    window.told(101, 1, 0, 103)
    assert due(window) == [101], "103 left after it, and came"


def test_the_newest_may_be_acknowledged():
    window = sent(8)
    window.heard(True, 100, 106)
    window.told(101, 1, 0, 106)
    assert due(window) == [101]
    assert window.heard(False, 101, 100)
    window.told(102, 1, 0, 100)
    assert due(window) == [], "102 left after 100, which came before all"
    window.told(102, 1, 0, 106)
    assert due(window) == [102]


def test_a_newest_that_never_left_says_nothing():
    window = sent(4)
    window.told(100, 4, 0, 104)
    assert due(window) == []


def test_what_was_answered_is_not_sent_again():
    window = sent(8)
    window.told(100, 4, 0, 106)
    window.heard(True, 101, 102)
    assert due(window) == [101, 103]


def test_timers_send_the_oldest_and_after_a_burst_everything():
    window = sent(6)
    window.timed_out()
    assert due(window) == [100]
    assert window.heard(False, 101, 100)
    window.timed_out()
    assert due(window) == [101, 102, 103, 104, 105]


def test_a_timer_sends_the_oldest_alone_where_something_behind_it_is_here():
    window = sent(6)
    window.timed_out()
    assert due(window) == [100]
    window.heard(True, 101, 103)
    window.timed_out()
    assert due(window) == [101]


def test_the_cap_holds():
    window = sent(3, cap=3)
    assert window.upcoming(200) is None
    window.heard(False, 101, 100)
    assert window.upcoming(200) == 103


def test_what_came_trimmed_is_sent_again_and_named_so():
    window = sent(4)
    assert not window.trimmed(100, 102)
    assert window.upcoming(200) == 102
    assert window.was_trimmed(102)
    window.left(102)
    assert not window.was_trimmed(102)


def test_what_was_acknowledged_is_not_sent_again_though_a_timer_asked_for_it():
    """It was answered to have come, was dropped for want of a receive, and came again."""
    window = sent(4)
    window.heard(True, 100, 100)
    window.timed_out()
    window.heard(False, 101, 100)
    assert window.upcoming(104) is None


def test_the_newest_is_remembered_so_far_back_and_no_farther():
    window = sent(3 * REMEMBERED, cap=3 * REMEMBERED)
    window.told(100, 1, 0, 100)
    assert due(window) == [100]
    window.heard(False, 100 + REMEMBERED, 100)
    window.told(110 + REMEMBERED, 1, 0, 100)
    assert due(window) == [110 + REMEMBERED], "100 left again, behind it"
    window.heard(False, 101 + REMEMBERED, 100)
    window.told(120 + REMEMBERED, 1, 0, 100)
    assert due(window) == []


def test_what_came_without_its_payload_halves_what_may_be_unacknowledged() -> None:
    window = HeldWindow(0, 16)
    for sequence in range(16):
        window.left(sequence)
    window.trimmed(0, 15)
    assert window.upcoming(100) == 15
    window.left(15)
    window.heard(False, 7, 6)
    assert window.upcoming(100) is None, "9 are unacknowledged, of 8"
    window.heard(False, 8, 7)
    assert window.upcoming(100) == 16
