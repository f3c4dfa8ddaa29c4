"""Sliding window, gaps, timers and AIMD of an ATP worker."""

from __future__ import annotations

import pytest

from workloads.atp.window import SendWindow


def ready(_: int) -> bool:
    return True


def take_all(window: SendWindow, now: int = 0) -> list[tuple[int, str]]:
    taken = []
    while (found := window.take(ready)) is not None:
        window.left(found[0], now)
        taken.append(found)
    return taken


def settle(window: SendWindow, packets: list[int], now: int = 10, marked: bool = False) -> None:
    for packet in packets:
        if marked:
            window.mark()
        window.settle(packet, now)


def started(size: int = 4, packets: int = 20, **more: int) -> SendWindow:
    window = SendWindow(size, 1000, **more)
    window.start(packets)
    return window


def test_it_slides_behind_the_oldest_packet_without_a_result() -> None:
    window = started()
    assert take_all(window) == [(packet, "") for packet in range(4)]
    settle(window, [0, 1])
    assert take_all(window) == [(4, ""), (5, "")]
    settle(window, [3, 4])
    assert take_all(window) == [(2, "gap")]
    settle(window, [2])
    assert take_all(window) == [(packet, "") for packet in range(6, 9)]


def test_a_gap_lets_what_is_missing_leave_again_once() -> None:
    window = started(6)
    take_all(window)
    settle(window, [3])
    assert take_all(window) == [(0, "gap"), (1, "gap"), (2, "gap")]
    settle(window, [5, 1])
    assert take_all(window) == [(4, "gap")]
    settle(window, [4])
    assert not take_all(window)


def test_a_result_that_comes_while_a_repetition_waits_ends_it() -> None:
    window = started()
    take_all(window)
    settle(window, [2, 0, 1])
    assert take_all(window) == [(4, ""), (5, ""), (6, "")]


def test_timers_never_give_up_and_back_off() -> None:
    window = started(1, 3)
    now, waits = 0, []
    take_all(window, now)
    for _ in range(12):
        due = window.get_timer()
        assert due is not None
        assert window.expire(due - 1) == 0
        waits.append(due - now)
        now = due
        assert window.expire(now) == 1
        assert take_all(window, now) == [(0, "timeout")]
    assert waits[:4] == [1000, 2000, 4000, 8000]
    assert all(8000 <= wait <= 16000 for wait in waits[4:])
    window.settle(0, now + 5)
    take_all(window, now + 5)
    due = window.get_timer()
    assert due is not None
    assert 8000 <= due - now - 5 <= 16000, "what was repeated says nothing about the way"
    window.settle(1, now + 105)
    take_all(window, now + 105)
    assert window.get_timer() == now + 105 + 1000


def test_the_longest_waits_of_peers_differ_each_time() -> None:
    waits = []
    for seed in (0, 1, 1 << 32):
        window, now = started(1, 3, seed=seed), 0
        take_all(window)
        for _ in range(10):
            now = window.get_timer() or 0
            assert window.expire(now) == 1
            take_all(window, now)
            waits.append((window.get_timer() or 0) - now)
    longest = [wait for wait in waits if wait >= 8000 and waits.index(wait) % 10 > 2]
    assert len(set(longest)) == len(longest) == 21
    assert max(longest) - min(longest) > 6000


def test_packets_that_left_one_after_the_other_back_off_once() -> None:
    window = started(3, 3, ways=0)
    for packet in range(3):
        assert window.take(ready) == (packet, "")
        window.left(packet, 100 * packet)
    for due in (1000, 1100, 1200):
        assert window.get_timer() == due
        assert window.expire(due) == 1
    assert len(take_all(window, 1200)) == 3
    assert window.get_timer() == 1200 + 2000


def test_the_wait_is_four_round_trips_at_least() -> None:
    window = started(1, 3)
    take_all(window, 0)
    window.settle(0, 700)
    take_all(window, 700)
    assert window.get_timer() == 700 + 2800


def test_what_a_later_result_shows_as_lost_waits_for_no_other_worker() -> None:
    window = started(2)
    take_all(window, 0)
    settle(window, [0], 2000)
    assert take_all(window, 2000) == [(2, "")]
    settle(window, [2], 2100)
    assert take_all(window, 2100) == [(1, "gap")]
    assert window.get_timer() == 2100 + 1000, "not four round trips of 2000 and more"


def test_marks_halve_the_window_once_per_window_and_rounds_without_add_one() -> None:
    window = started(8, 200)
    sizes = []
    for number in range(30):
        (packet,) = [p for p, _ in take_all(window)][:1] if number == 0 else [window.base]
        settle(window, [window.base], marked=number < 8)
        take_all(window)
        sizes.append(window.size)
    assert sizes[:7] == [8] * 7
    assert sizes[7] == 4, "eight marks in one window count once"
    assert sizes[11] == 5
    assert sizes[16] == 6
    assert packet >= 0


def test_the_window_stays_between_one_packet_and_all() -> None:
    window = started(4, 1000)
    take_all(window)
    for _ in range(20):
        settle(window, [window.base], marked=True)
        take_all(window)
    assert window.size == 1
    for _ in range(100):
        settle(window, [window.base])
        take_all(window)
    assert window.size == 4


def test_without_aimd_marks_mean_nothing() -> None:
    window = started(4, 100, aimd=False)
    take_all(window)
    for _ in range(20):
        settle(window, [window.base], marked=True)
        take_all(window)
    assert window.size == 4


def test_tensors_follow_each_other_without_a_gap_in_the_count() -> None:
    window = started(4, 2)
    assert take_all(window) == [(0, ""), (1, "")]
    settle(window, [0, 1])
    assert window.complete
    window.start(3)
    assert (window.first, window.end) == (2, 5)
    assert take_all(window) == [(2, ""), (3, ""), (4, "")]


def test_what_is_not_ready_does_not_leave() -> None:
    window = started(4, 10)
    assert window.take(lambda packet: packet < 0) is None
    assert window.take(ready) == (0, "")


def test_it_knows_whether_more_would_leave() -> None:
    """What is asked for again counts while it is outstanding; what is new, while the window and the tensor go on and it
    is ready."""
    window = started(4, 5)
    assert not window.has_more(is_ready=False)
    assert window.has_more(is_ready=True)
    take_all(window)
    assert not window.has_more(is_ready=True), "the window is full"
    settle(window, [1])
    assert window.has_more(is_ready=True), "packet 0 is asked for"
    settle(window, [2, 0])
    assert take_all(window) == [(4, "")]
    assert not window.has_more(is_ready=True), "there is no packet 5"
    window.ask_again(3, "nack")
    window.ask_again(4, "nack")
    settle(window, [3])
    assert window.has_more(is_ready=True), "packet 4 is, if not packet 3"
    settle(window, [4])
    assert not window.has_more(is_ready=True)


def test_what_has_not_left_is_not_outstanding() -> None:
    window = started(4, 10)
    assert window.take(ready) == (0, "")
    assert not window.is_outstanding(0)
    window.left(0, 0)
    assert [window.is_outstanding(packet) for packet in (0, 1)] == [True, False]


def test_what_is_asked_for_twice_before_it_leaves_leaves_once() -> None:
    window = started(2, 10)
    take_all(window)
    window.ask_again(0, "nack")
    assert window.expire(1000) == 1
    assert take_all(window, 1000) == [(0, "nack")]
    window.ask_again(0, "nack")
    assert take_all(window, 1000) == [(0, "nack")], "and once more when it is asked for after that"


def test_a_packet_that_left_twice_at_one_time_expires_once() -> None:
    window = started(2, 2)
    take_all(window)
    window.ask_again(1, "nack")
    take_all(window)
    settle(window, [0], 900)
    assert window.expire(1000) == 1


def test_a_wake_up_for_something_else_makes_no_wait_longer() -> None:
    window = started(1, 2)
    assert window.expire(500) == 0
    take_all(window, 600)
    assert window.get_timer() == 600 + 1000


def test_a_packet_waits_from_when_it_left_last() -> None:
    window = started(2, 2)
    take_all(window)
    window.ask_again(0, "nack")
    assert take_all(window, 500) == [(0, "nack")]
    settle(window, [1], 600)
    assert window.get_timer() == 500 + 1000
    assert window.expire(1000) == 0


def test_where_packets_take_several_ways_a_gap_is_no_loss() -> None:
    window = started(ways=0)
    take_all(window)
    settle(window, [1, 3])
    assert take_all(window) == []
    window.expire(2_000_000)
    assert take_all(window) == [(0, "timeout"), (2, "timeout")]


def test_of_ways_taken_in_turn_each_has_gaps_of_its_own() -> None:
    window = started(12, ways=4)
    take_all(window)
    settle(window, [1, 2, 5, 3])
    assert take_all(window) == []  # 0 and 4 are the last of their way
    settle(window, [8])
    assert take_all(window) == [(0, "gap"), (4, "gap")]
    settle(window, [11])
    assert take_all(window) == [(7, "gap")]
    settle(window, [0])
    assert take_all(window) == [(packet, "") for packet in (12, 13, 14, 15)]
    settle(window, [12])  # 8 is the one before it
    assert take_all(window) == []
    settle(window, [13])
    assert take_all(window) == [(9, "gap")]


def test_a_timer_lets_the_oldest_packet_leave_and_the_next_one_all() -> None:
    """What is not lost may wait for another worker of its sum."""
    window = started()
    take_all(window)
    assert window.expire(1000) == 1
    assert take_all(window, 1000) == [(0, "timeout")]
    assert window.get_timer() == 2000  # nobody waits longer for it
    assert window.expire(2000) == 4
    assert take_all(window, 2000) == [(packet, "timeout") for packet in range(4)]
    assert window.get_timer() == 2000 + 2 * 1000


def test_what_left_again_before_does_not_wait_behind_the_oldest() -> None:
    window = started(6)
    take_all(window)
    settle(window, [1, 3], 0)
    assert take_all(window) == [(0, "gap"), (2, "gap")]
    assert window.expire(1000) == 2
    assert take_all(window, 1000) == [(0, "timeout"), (2, "timeout")]


def test_a_result_of_another_packet_has_the_next_timer_begin_with_the_oldest() -> None:
    for results, again in (([0], [1, 2, 3, 4]), ([0, 1], [2])):
        window = started()
        take_all(window)
        window.expire(1000)
        take_all(window, 1000)
        settle(window, results, 1010)
        take_all(window, 1010)
        due = 2010 if again == [1, 2, 3, 4] else 2000
        window.expire(due)
        assert take_all(window, due) == [(packet, "timeout") for packet in again]


def test_only_what_left_can_be_settled() -> None:
    window = SendWindow(4, 1000)
    window.start(3)
    for never_left in (-4, -1, 0, 3):
        with pytest.raises(ValueError, match="not outstanding"):
            window.settle(never_left, 1)


def test_a_clock_may_show_less_than_zero() -> None:
    """A deadline of -1 is a time, and not the sign for none."""
    window = SendWindow(1, 1000)
    window.start(1)
    window.left(0, -1001)
    assert window.expire(-1) == 1
    assert window.get_timer() is None
