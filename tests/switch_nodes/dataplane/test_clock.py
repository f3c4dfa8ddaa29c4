from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.dataplane import EmulatedClock

factors, spans = st.integers(1, 10_000), st.integers(0, 10**15)


def at(now: int, dilation: int) -> EmulatedClock:
    return EmulatedClock(dilation, read=lambda: now)


@given(factors, spans, spans)
def test_who_sleeps_until_a_deadline_finds_that_it_has_come(dilation: int, passed: int, ahead: int) -> None:
    now = at(passed, dilation).since(0)
    wake = passed + EmulatedClock(dilation).real(ahead)
    assert now + ahead <= at(wake, dilation).since(0) <= now + ahead + 1


@given(factors, spans)
def test_a_span_there_and_back(dilation: int, span: int) -> None:
    clock = EmulatedClock(dilation)
    assert clock.emulated(clock.real(span)) == span
    assert 0 <= span - clock.real(clock.emulated(span)) < dilation


@given(factors, st.integers(8_000, 10**12), st.integers(1, 10**6))
def test_a_link_carries_as_much_in_emulated_time(dilation: int, rate_bps: int, span_ms: int) -> None:
    clock = EmulatedClock(dilation)
    real = clock.real_bps(rate_bps) * clock.real(span_ms)
    assert 0 <= rate_bps * span_ms - real < dilation * span_ms


def test_a_sleep_is_a_span_of_emulated_time() -> None:
    slept: list[float] = []
    EmulatedClock(20, sleep=slept.append).sleep(1_500_000)
    assert slept == [0.03]


def test_without_dilation_it_is_the_clock_of_the_machine() -> None:
    assert at(5_000, 1).since(3_000) == 2_000
    assert at(1_000, 1).since(3_000) == -2_000
