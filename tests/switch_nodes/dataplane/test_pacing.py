from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.dataplane import Pacer, moderation_ns

RATE_BPS, BURST, FRAME = 100_000_000, 50_000, 1082
MS = 1_000_000
AHEAD_BYTES = MS * RATE_BPS // 8 // 10**9
BURST_NS = BURST * 8 * 10**9 // RATE_BPS


def make() -> Pacer:
    return Pacer(RATE_BPS, BURST)


def drain(pacer: Pacer, now: int, frame_bytes: int = FRAME, *, more: bool = True) -> int:
    """Send whatever may leave at `now`; bytes. `more`: others have to stay."""
    sent = 0
    while (frames := pacer.frames(now, frame_bytes)) > 0:
        pacer.spend(now, frames * frame_bytes, more=more)
        sent += frames * frame_bytes
    return sent


def test_over_time_the_rate_is_a_little_less_than_the_links() -> None:
    pacer = make()
    first = drain(pacer, 0)
    rest = sum(drain(pacer, now) for now in range(2 * MS, 1002 * MS, 2 * MS))
    assert abs(rest * 8 - 0.998 * RATE_BPS) < 3 * FRAME * 8
    assert first <= AHEAD_BYTES + FRAME


def test_who_comes_late_while_frames_wait_makes_up_for_it_as_far_as_the_burst_goes() -> None:
    pacer = make()
    drain(pacer, 0)
    caught_up = drain(pacer, 10_000 * MS)
    assert BURST < caught_up <= BURST + AHEAD_BYTES + FRAME
    assert drain(pacer, 30_000 * MS) == caught_up


def test_a_wire_without_frames_saves_up_nothing() -> None:
    pacer = make()
    drain(pacer, 0, more=False)
    assert drain(pacer, 10_000 * MS) <= AHEAD_BYTES + FRAME
    pacer.spend(10_001 * MS, 0, more=False)
    assert drain(pacer, 10_050 * MS) <= AHEAD_BYTES + FRAME


def test_what_may_leave_now_may_not_leave_twice() -> None:
    pacer = make()
    drain(pacer, 5 * MS)
    assert pacer.frames(5 * MS, FRAME) == 0
    assert pacer.frames(5 * MS + 10_000, FRAME) <= 1


@given(st.lists(st.tuples(st.integers(0, 20 * MS), st.booleans()), min_size=1, max_size=50), st.integers(64, FRAME))
def test_no_schedule_is_ahead_of_its_link_by_more_than_a_nic_holds(
    turns: list[tuple[int, bool]], frame_bytes: int
) -> None:
    """A link that carries what it is given, and is given what it missed while frames waited."""
    pacer, now, carried_at, waited = make(), 0, 0, False
    for gap, more in turns:
        now += gap
        while (frames := pacer.frames(now, frame_bytes)) > 0:
            carried_at = max(carried_at, now - BURST_NS if waited else now)
            pacer.spend(now, frames * frame_bytes, more=more)
            carried_at += frames * frame_bytes * 8 * 10**9 // RATE_BPS
            waited = more
        assert carried_at <= now + MS + 2 * FRAME * 8 * 10**9 // RATE_BPS


def test_a_link_of_which_nothing_may_be_ahead_gets_frame_by_frame() -> None:
    pacer, now = Pacer(RATE_BPS, BURST, 0), 10 * MS
    drain(pacer, now)
    for _ in range(20):
        assert pacer.frames(pacer.go_on_at - 1, FRAME) == 0
        now = pacer.go_on_at
        assert pacer.frames(now, FRAME) == 1
        pacer.spend(now, FRAME, more=True)
    assert now == 10 * MS + 20 * (FRAME * 8 * 10**9 // RATE_BPS)


def test_who_comes_when_told_leaves_no_gap() -> None:
    pacer = make()
    drain(pacer, 10 * MS)
    for _ in range(20):
        now = pacer.go_on_at
        assert pacer.frames(now, FRAME) > 1
        assert now < 10 * MS + 21 * MS
        drain(pacer, now)


def test_one_may_sleep_half_of_what_a_nic_holds() -> None:
    assert moderation_ns(MS) == MS // 2
