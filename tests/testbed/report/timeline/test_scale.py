from __future__ import annotations

import pytest

from testbed.report.timeline.scale import show_time, ticks

MS, SECOND = 1_000_000, 1_000_000_000


@pytest.mark.parametrize(
    ("t_ns", "span_ns", "shown"),
    [
        (12_345_678, 23 * MS, "12.346 ms"),
        (12_345_678, 2 * MS, "12.3457 ms"),
        (12_345_678_901, 30 * SECOND, "12.346 s"),
        (1_500, 800_000, "1.50 us"),
        (50 * SECOND, 10 * MS, "50,000.000 ms"),
        (0, 0, "0.0000 s"),
    ],
)
def test_times_are_in_the_unit_of_what_is_shown(t_ns: int, span_ns: int, shown: str) -> None:
    assert show_time(t_ns, span_ns) == shown


def test_ticks_late_in_a_run_have_no_exponent() -> None:
    found = [text for _, text in ticks(12_345_678_000, 12_345_698_000, 5)]
    assert found == ["12,345,680 us", "12,345,685 us", "12,345,690 us", "12,345,695 us"]
