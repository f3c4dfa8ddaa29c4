"""Timers that reliable connections take, and those of transports whose protocol repeats packets."""

from __future__ import annotations

import pytest

from workloads.datagrams.transport import DATAGRAMS
from workloads.rc.recovery import rto_ns
from workloads.rc.timers import ANSWER_BYTES
from workloads.rc.transport import RELIABLE
from workloads.transports import TransportKind
from workloads.transports.timing import LEAST_RTO_NS, RoundTrip, TimerNeed
from workloads.uc.transport import UNRELIABLE

TRIP = RoundTrip(empty_ns=20_000, queued_ns=80_000, slower_ns=5_000)


@pytest.mark.parametrize("code", range(32))
def test_a_code_lasts_as_long_as_the_requester_waits(code: int) -> None:
    assert RELIABLE.span_of(code) == (rto_ns(code) or 0)


def test_the_timeout_is_the_shortest_code_of_three_worst_round_trips() -> None:
    values = RELIABLE.timer_values(TimerNeed(TRIP))
    assert set(values) == {"timeout_code"}
    wanted, code = 3 * 100_000 + 5_000, values["timeout_code"]
    assert RELIABLE.span_of(code - 1) < wanted <= RELIABLE.span_of(code)
    slowed = RELIABLE.timer_values(TimerNeed(TRIP, cuts_rates=True))["timeout_code"]
    assert slowed == code + 2


def test_irn_has_a_short_and_a_long_timer() -> None:
    values = RELIABLE.timer_values(TimerNeed(TRIP, resends_alone=True))
    assert values["rto_low_ns"] == 2 * 20_000 + 5_000
    assert values["rto_high_ns"] == 40_000 * 16 // 5 + 5_000
    behind = RELIABLE.timer_values(TimerNeed(TRIP, others_ns=1e9, resends_alone=True))
    assert behind["rto_low_ns"] == 2 * 20_000 + 80_000 + 5_000


def test_values_of_the_scenario_bound_the_others() -> None:
    low = RELIABLE.timer_values(TimerNeed(TRIP, resends_alone=True, low_ns=7_000))
    assert low["rto_low_ns"] == 7_000
    high = RELIABLE.timer_values(TimerNeed(TRIP, resends_alone=True, high_ns=9_000))
    assert high["rto_low_ns"] == 9_000


def test_real_machines_take_milliseconds() -> None:
    values = RELIABLE.timer_values(TimerNeed(TRIP, is_real=True, resends_alone=True))
    assert values["timeout_code"] == 15
    assert values["rto_low_ns"] == 3_005_000 - 3_005_000 % 10_000 + 10_000
    assert DATAGRAMS.timer_values(TimerNeed(TRIP, is_real=True)) == {"rto_ns": 10_000_000}


@pytest.mark.parametrize("kind", [DATAGRAMS, UNRELIABLE], ids=lambda kind: kind.name)
def test_a_protocol_that_repeats_packets_waits_two_round_trips(kind: TransportKind) -> None:
    assert kind.timer_values(TimerNeed(TRIP)) == {"rto_ns": 2 * 100_000 + 5_000}
    assert kind.timer_values(TimerNeed(RoundTrip())) == {"rto_ns": LEAST_RTO_NS}
    assert kind.answer_bytes(1000) == 1000
    assert kind.unasked_packets is None


def test_keys_are_those_of_the_values() -> None:
    for kind in (RELIABLE, UNRELIABLE, DATAGRAMS):
        for alone in (False, True):
            fields = {each.field for each in kind.timer_keys(resends_alone=alone)}
            assert fields == set(kind.timer_values(TimerNeed(TRIP, resends_alone=alone)))


def test_an_answer_of_rc_has_the_size_of_its_headers() -> None:
    assert RELIABLE.answer_bytes(1000) == ANSWER_BYTES == 70
