from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.dataplane import Pacer, moderation_ns

RATE_BPS, BURST, FRAME = 100_000_000, 65_536, 1082
MS = 1_000_000


def drain(pacer: Pacer, now: int, frame_bytes: int = FRAME) -> int:
    """Send whatever may leave at `now`; bytes."""
    sent = 0
    while (frames := pacer.frames(now, frame_bytes)) > 0:
        pacer.spend(now, frames * frame_bytes)
        sent += frames * frame_bytes
    return sent


def test_over_time_the_rate_is_the_links_less_one_percent() -> None:
    pacer = Pacer(RATE_BPS, BURST)
    first = drain(pacer, 0)
    rest = sum(drain(pacer, now) for now in range(2 * MS, 1002 * MS, 2 * MS))
    assert abs(rest * 8 - 0.99 * RATE_BPS) < 3 * FRAME * 8
    assert first <= BURST + 12 * MS * RATE_BPS // 8 // 10**9 + FRAME


def test_an_idle_time_saves_up_one_burst_and_no_more() -> None:
    pacer = Pacer(RATE_BPS, BURST)
    drain(pacer, 0)
    full = drain(pacer, 10_000 * MS)
    assert drain(pacer, 30_000 * MS) == full


def test_what_may_leave_now_may_not_leave_twice() -> None:
    pacer = Pacer(RATE_BPS, BURST)
    drain(pacer, 5 * MS)
    assert pacer.frames(5 * MS, FRAME) == 0
    assert pacer.frames(5 * MS + 10_000, FRAME) <= 1


@given(st.lists(st.integers(0, 20 * MS), min_size=1, max_size=50), st.integers(64, 9014))
def test_no_schedule_sends_more_than_rate_burst_and_lead(gaps: list[int], frame_bytes: int) -> None:
    pacer, now, sent = Pacer(RATE_BPS, BURST), 0, 0
    for gap in gaps:
        now += gap
        sent += drain(pacer, now, frame_bytes)
    lead_bytes = 9 * MS * RATE_BPS // 8 // 10**9
    assert sent <= RATE_BPS // 8 * now // 10**9 + BURST + lead_bytes + frame_bytes


def test_one_may_sleep_a_part_of_what_is_covered() -> None:
    assert moderation_ns(RATE_BPS, BURST) == MS
    assert moderation_ns(1_000_000_000, BURST) == MS
    assert Pacer(RATE_BPS, BURST).moderation_ns == moderation_ns(RATE_BPS, BURST)
