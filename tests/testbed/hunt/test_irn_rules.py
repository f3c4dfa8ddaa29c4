"""Each rule of IRN endpoints, kept and broken, by frames that a test makes up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.hunt.endpoint_rules import ENDPOINT_RULES
from testbed.hunt.irn_rules import IRN_RULES, IrnPair
from tests.support.irn_bench import ACK, IRN, NAK, Bench
from tests.support.rc_pair import START_PSNS


@pytest.fixture(params=START_PSNS)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


def test_an_honest_recovery_breaks_nothing(bench: Bench) -> None:
    bench.sends(0, 1, 2, 3, 4)
    bench.hears(ACK, 1, 0)
    bench.hears(NAK, 1, 2)
    bench.hears(NAK, 1, 4)
    bench.sends(1, 3, 5)
    bench.hears(ACK, 3, 1)
    bench.hears(ACK, 5, 3)
    assert bench.broken == []


def test_a_hole_that_was_known_stays_one_when_the_one_in_front_of_it_is_filled(bench: Bench) -> None:
    """Its turn comes when it is the oldest itself."""
    bench.sends(0, 1, 2, 3)
    bench.hears(NAK, 0, 2)
    bench.sends(0)
    bench.hears(ACK, 1, 0)
    bench.sends(1)
    assert bench.broken == []
    bench.sends(1)
    assert bench.broken == ["timers_wait"]


def test_what_lacks_behind_the_end_of_a_recovery_may_be_sent_again_in_the_next(bench: Bench) -> None:
    """Packet 4 left after the recovery began, and is a hole in it already."""
    bench.sends(0, 1, 2, 3)
    bench.hears(NAK, 0, 1)
    bench.sends(0, 4, 5)
    bench.hears(NAK, 0, 5)
    bench.sends(2, 3, 4)
    bench.hears(ACK, 4, 0)
    bench.hears(NAK, 4, 5)
    bench.sends(4)
    assert bench.broken == []
    bench.sends(4)
    assert bench.broken == ["timers_wait"]


def test_what_was_due_when_a_recovery_ended_belongs_to_that_one(bench: Bench) -> None:
    """Packet 4 leaves after the recovery, as its last hole; the next recovery may send it again, once."""
    bench.sends(0, 1, 2)
    bench.hears(NAK, 0, 1)
    bench.sends(0, 3, 4, 5)
    bench.hears(NAK, 0, 5)
    bench.hears(ACK, 3, 0)
    bench.sends(4)
    bench.hears(NAK, 3, 5)
    bench.sends(3, 4)
    assert bench.broken == []
    bench.sends(4)
    assert bench.broken == ["holes_alone_again"]


def test_after_a_timer_holes_may_be_sent_again_even_if_its_own_packet_arrived_before_it_left(bench: Bench) -> None:
    bench.sends(0, 1, 2, 3, 4)
    bench.hears(NAK, 0, 4)
    bench.sends(0, 1)
    bench.now += IRN.rto_high_ns
    bench.pair.woke(bench.now)
    bench.hears(NAK, 1, 3)
    bench.sends(1)
    assert bench.broken == []
    bench.sends(1)
    assert bench.broken == ["timers_wait"]


def test_the_oldest_packet_leaves_for_the_timer_that_is_over_even_if_it_is_taken_for_lost(bench: Bench) -> None:
    """What leaves once more between that and the next timer is of that one, and may leave again after the next."""
    bench.sends(0, 1, 2, 3)
    bench.waits_and_sends(0)
    bench.hears(ACK, 1, 0)
    bench.waits_and_sends(1, 2)
    bench.hears(ACK, 2, 1)
    bench.sends(3)
    bench.waits_and_sends(2, 3)
    assert bench.broken == []
    bench.sends(2)
    assert bench.broken == ["timers_wait"]


def test_in_a_recovery_an_answer_that_was_overtaken_shows_a_hole_too(bench: Bench) -> None:
    bench.sends(0, 1, 2, 3)
    bench.hears(NAK, 0, 1)
    bench.sends(0)
    bench.hears(ACK, 2, 0)
    bench.hears(NAK, 0, 3)
    bench.sends(2)
    assert bench.broken == []
    bench.sends(2)
    assert bench.broken == ["timers_wait"]


def test_after_a_timer_that_brought_one_packet_all_in_flight_may_be_sent_again(bench: Bench) -> None:
    bench.sends(*range(6))
    wait = bench.config.irn.rto_high_ns + bench.config.irn.rto_low_ns
    for oldest in (0, 1):
        bench.now += wait
        bench.pair.woke(bench.now)
        if oldest == 0:
            bench.sends(0)
            bench.hears(ACK, 1, 0)
    bench.sends(1, 2, 3, 4, 5)
    assert bench.broken == []
    bench.sends(3)
    assert bench.broken == ["holes_alone_again"]


@pytest.mark.parametrize("cumulative", [0, 2], ids=["nothing", "two packets"])
def test_after_a_timer_that_brought_another_number_the_oldest_alone_may_be(bench: Bench, cumulative: int) -> None:
    bench.sends(*range(6))
    wait = bench.config.irn.rto_high_ns + bench.config.irn.rto_low_ns
    bench.now += wait
    bench.pair.woke(bench.now)
    bench.sends(0)
    if cumulative:
        bench.hears(ACK, cumulative, 0)
    bench.now += wait
    bench.pair.woke(bench.now)
    bench.sends(cumulative)
    assert bench.broken == []
    bench.sends(cumulative + 1)
    assert bench.broken == ["holes_alone_again"]


def test_nothing_is_known_to_lack_when_all_that_arrived_is_acknowledged(bench: Bench) -> None:
    bench.sends(0, 1, 2, 3)
    bench.hears(NAK, 0, 1)
    bench.sends(0)
    bench.hears(ACK, 2, 0)
    bench.sends(2)
    assert bench.broken == ["timers_wait"]


def test_where_answers_come_in_order_all_that_moves_a_recovery_says_what_lacks(bench: Bench) -> None:
    config = replace(bench.config, irn=replace(IRN, in_order=True))
    bench.pair = IrnPair(config, lambda _, rule, what: bench.broken.append(rule))
    bench.sends(0, 1, 2, 3)
    bench.hears(NAK, 0, 1)
    bench.sends(0)
    bench.hears(ACK, 2, 0)
    bench.sends(2)
    assert bench.broken == []


def test_an_honest_receiver_breaks_nothing(bench: Bench) -> None:
    bench.gets(0)
    bench.gets(2, ends=True)
    bench.gets(1)
    bench.gets(1)
    bench.answers(ACK, 1, 0)
    bench.answers(NAK, 1, 2)
    bench.answers(ACK, 3, 1, 1)
    bench.answers(ACK, 3, 1, 1)
    bench.sends(0)
    assert bench.broken == []


@pytest.mark.parametrize("said", [(ACK, 0, 0), (ACK, 2, 0), (NAK, 1, 0), (ACK, 1, 1)])
def test_an_answer_says_what_came(bench: Bench, said: tuple[int, int, int]) -> None:
    bench.gets(0)
    bench.answers(*said)
    assert bench.broken == ["answers_are_earned"]


def test_no_answer_without_a_packet(bench: Bench) -> None:
    bench.answers(ACK, 0, 0)
    assert bench.broken == ["answers_are_earned"]


def test_a_read_with_the_psn_of_what_came_is_answered_as_its_duplicate(bench: Bench) -> None:
    """The PSN comes first: one answer for every packet, whatever it asks."""
    for offset in (0, 2):
        bench.gets(offset)
        bench.gets_read(offset)
    for said in ((ACK, 1, 0), (ACK, 1, 0), (NAK, 1, 2), (NAK, 1, 2)):
        bench.answers(*said)
    assert bench.broken == []
    bench.gets_read(0)
    bench.sends(0)
    assert bench.broken == ["answers_are_given"]


@pytest.mark.parametrize(("offset", "said"), [(0, (ACK, 1, 0)), (1, (NAK, 0, 1))])
def test_a_read_that_did_not_come_yet_earns_nothing_but_a_refusal(
    bench: Bench, offset: int, said: tuple[int, int, int]
) -> None:
    bench.gets_read(offset)
    bench.answers(*said)
    assert bench.broken == ["answers_are_earned"]


def test_the_msn_counts_whole_messages(bench: Bench) -> None:
    bench.gets(1, ends=True)
    bench.answers(NAK, 0, 1, 1)
    assert bench.broken == ["msn_counts_messages"]


def test_an_answer_leaves_before_a_request(bench: Bench) -> None:
    bench.gets(0)
    bench.sends(0)
    assert bench.broken == ["answers_are_given"]


def test_what_arrived_is_not_sent_again(bench: Bench) -> None:
    bench.sends(0, 1, 2)
    bench.hears(NAK, 0, 1)
    bench.sends(1)
    assert bench.broken == ["acks_are_believed"]


@pytest.mark.parametrize("offsets", [(1,), (0, 2), (0, 1, 2, 3, 4, 5, 6)])
def test_requests_follow_each_other_inside_the_cap(bench: Bench, offsets: tuple[int, ...]) -> None:
    bench.sends(*offsets)
    assert bench.broken == ["requests_in_order"]


def test_a_failed_pair_sends_no_request(bench: Bench) -> None:
    bench.pair.failed = True
    bench.sends(0)
    assert bench.broken == ["requests_in_order"]


def test_above_all_that_arrived_nothing_is_sent_again(bench: Bench) -> None:
    bench.sends(0, 1, 2, 3)
    bench.hears(NAK, 0, 1)
    bench.sends(0, 2)
    assert bench.broken == ["holes_alone_again"]


def test_a_hole_is_sent_again_once(bench: Bench) -> None:
    bench.sends(0, 1, 2, 3)
    bench.hears(NAK, 0, 2)
    bench.sends(0, 1, 1)
    assert bench.broken == ["holes_alone_again"]


@pytest.mark.parametrize(("in_flight", "wait"), [(3, 100), (4, 420)])
def test_without_an_answer_that_asks_the_timer_decides(bench: Bench, in_flight: int, wait: int) -> None:
    bench.sends(*range(in_flight))
    bench.now = wait - 1
    bench.pair.woke(bench.now)
    bench.sends(0)
    assert bench.broken == ["timers_wait"]


@pytest.mark.parametrize(("in_flight", "wait"), [(3, 100), (4, 420)])
def test_a_timer_that_is_over_has_the_oldest_sent_again(bench: Bench, in_flight: int, wait: int) -> None:
    bench.sends(*range(in_flight))
    for turn in (1, 2):
        bench.now = turn * wait
        bench.pair.woke(bench.now)
        bench.sends(0)
    assert bench.broken == []


def test_all_rules_have_a_case_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert set(IRN_RULES) <= set(ENDPOINT_RULES)
    assert all(f'["{rule}"]' in source for rule in ENDPOINT_RULES if rule not in ("rnr_is_waited_for",))
