"""When wake-ups are too many."""

from __future__ import annotations

from workloads.livelock import _MOST_IN_VAIN, WakeWatch

LIMIT = 10_000


def test_so_many_wakeups_at_one_time_are_too_many_whatever_comes_of_them() -> None:
    watch = WakeWatch()
    assert not any(watch.woke(7, number) for number in range(LIMIT - 1))
    assert watch.woke(7, LIMIT) == "its timer expired 10,000 times at 7 ns"


def test_time_that_goes_on_starts_the_count_again() -> None:
    watch = WakeWatch()
    for now in range(0, 5_000_000, 1_000_000):
        assert not any(watch.woke(now, now + number) for number in range(LIMIT - 1))


def test_a_timer_that_runs_close_behind_itself_and_does_nothing_is_found() -> None:
    watch = WakeWatch()
    assert not any(watch.woke(now, 3) for now in range(_MOST_IN_VAIN - 1))
    assert "in a row up to" in watch.woke(_MOST_IN_VAIN, 3)


def test_a_pause_or_something_done_is_no_livelock() -> None:
    slow, busy = WakeWatch(), WakeWatch()
    assert not any(slow.woke(2_000 * number, 3) for number in range(2 * _MOST_IN_VAIN))
    assert not any(busy.woke(number, number // 1_000) for number in range(2 * _MOST_IN_VAIN))
