"""How long senders of datagrams wait: from the least to the longest, and what moves it."""

from __future__ import annotations

import pytest

from workloads.datagrams.retransmission import BackoffTimer, RetransmissionTimer

RTO = 1000
KNUTH = (6364136223846793005, 1442695040888963407)
"""MMIX: x -> (a x + c) mod 2^64"""


@pytest.mark.parametrize(
    ("took", "wait"), [(0, RTO), (250, RTO), (251, 1004), (3999, 15_996), (4001, 16 * RTO), (10**9, 16 * RTO)]
)
def test_either_waits_four_round_trips_between_the_least_and_sixteen_times_that(took: int, wait: int) -> None:
    repeating, backing_off = RetransmissionTimer(RTO), BackoffTimer(RTO)
    assert (repeating.wait(0), backing_off.wait()) == (RTO, RTO)
    repeating.measure(took)
    backing_off.measure(took)
    assert (repeating.wait(0), backing_off.wait()) == (wait, wait)


def test_the_typical_round_trip_moves_by_a_sixteenth_whatever_came() -> None:
    timer, waits = RetransmissionTimer(RTO), []
    for took in (1600, 1601, 10**9, 1806, 0, 1599):
        timer.measure(took)
        waits.append(timer.wait(0) // 4)
    assert waits == [1600, 1700, 1806, 1806, 1694, 1589]


def test_repetitions_double_the_wait_by_the_hundred_and_six_times_at_most() -> None:
    timer = RetransmissionTimer(RTO)
    tries = (0, 99, 100, 199, 200, 599, 600, 10_000)
    assert [timer.wait(attempts) // RTO for attempts in tries] == [1, 1, 2, 2, 4, 32, 64, 64]


def test_the_mean_follows_by_an_eighth_of_the_difference() -> None:
    timer, waits = BackoffTimer(RTO), []
    for took in (800, 1600, 1600, 100):
        timer.measure(took)
        waits.append(timer.wait() // 4)
    assert waits == [800, 900, 987, 987 - 111]


def test_what_left_before_the_wait_doubled_does_not_double_it_again() -> None:
    timer, waits = BackoffTimer(RTO), []
    for now in (5000, 5001, 6999, 7000, 10_999, 11_000):
        timer.expired(now)
        waits.append(timer.wait())
    assert waits == [2000, 2000, 2000, 4000, 4000, 8000]
    timer.measure(100)
    assert timer.wait() == RTO, "an answer to a first attempt ends it"


@pytest.mark.parametrize("seed", [0, 7 << 32 | 3])
def test_the_longest_wait_is_drawn_from_its_upper_half(seed: int) -> None:
    timer, drawn = BackoffTimer(RTO, seed), seed
    for number in range(10):
        timer.expired(number * 10**9)
    for _ in range(100):
        drawn = (drawn * KNUTH[0] + KNUTH[1]) % 2**64
        assert timer.wait() == 16 * RTO - 8 * RTO * (drawn >> 32) // 2**32


def test_waits_in_vain_are_drawn_from_their_upper_half_where_there_is_a_seed() -> None:
    timer, peer = RetransmissionTimer(RTO, 3), RetransmissionTimer(RTO, 4)
    assert {timer.wait(attempts) for attempts in range(8)} == {RTO}
    waits = [(timer.wait(8), peer.wait(8)) for _ in range(200)]
    assert all(RTO // 2 < wait <= RTO for both in waits for wait in both)
    assert sum(own != other for own, other in waits) > 150
    assert RTO * 32 < timer.wait(600) <= RTO * 64
