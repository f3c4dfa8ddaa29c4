"""A planned rate: exact in the long run, little made good at once."""

from __future__ import annotations

from workloads.grid.pace import Pace

CATCH_UP_NS = 20_000_000


def sent(pace: Pace, until: int, step: int, size: int = 1_000) -> int:
    """Bytes, by a sender that wakes up every `step` ns."""
    total = 0
    for now in range(0, until, step):
        while pace.due() <= now:
            pace.charge(size, now)
            total += size
    return total


def test_the_rate_is_exact_in_the_long_run() -> None:
    for step in (1_000, 333_333, 5_000_000):
        assert abs(sent(Pace(24.375e6, CATCH_UP_NS), 1_000_000_000, step) * 8 / 24.375e6 - 1) < 0.01


def test_what_a_sender_missed_is_made_good_only_in_part() -> None:
    pace = Pace(8e6, CATCH_UP_NS)  # a frame of 1000 bytes every millisecond
    pace.charge(1_000, 0)
    count = 0
    while pace.due() <= 1_000_000_000:
        pace.charge(1_000, 1_000_000_000)
        count += 1
    assert count == 21


def test_without_a_rate_everything_may_leave() -> None:
    pace = Pace(0.0, CATCH_UP_NS)
    pace.charge(1_000, 5)
    assert pace.due() == -(1 << 62), "before all times"


def test_a_clock_may_show_less_than_zero() -> None:
    pace = Pace(0.0, CATCH_UP_NS)
    pace.set_rate(8e6, -5_000_000)
    assert pace.due() == -5_000_000


def test_a_new_rate_holds_from_now_on() -> None:
    pace = Pace(8e6, CATCH_UP_NS)
    pace.set_rate(8e3, 500)
    assert pace.due() == 500
    pace.charge(1_000, 500)
    assert pace.due() == 1_000_000_500


def test_before_the_start_nothing_is_saved_up() -> None:
    pace = Pace(8e6, CATCH_UP_NS)
    pace.start(10_000_000)
    pace.charge(1_000, 10_000_000)
    assert pace.due() == 11_000_000
