"""Rates, from fixed seeds, within 5 sigma of what the distribution says."""

from __future__ import annotations

from itertools import groupby
from math import sqrt

import numpy as np
import pytest

from testbed.faults.decide import CHANCE_BITS, absorb_many, burst_is_bad, draw_many, stream_key, threshold
from testbed.faults.model import Corrupt, Duplicate, EcnMark, Loss, PacketFault
from tests.support.roce_frames import link_filter, request
from topologies import Direction

PACKETS = 1 << 20
LINK = ("h1-s1",)


def struck(rate: float, *, seed: int = 1, occurrence: int = 1, fault: str = "loss-1") -> np.ndarray:
    stream = stream_key(seed, fault, "h1-s1", Direction.UP)
    keys = absorb_many(0x1234, np.arange(PACKETS, dtype=np.uint64))
    numbers = draw_many(stream, keys, np.full(PACKETS, occurrence, np.uint64))
    return numbers >> np.uint64(64 - CHANCE_BITS) < np.uint64(threshold(rate))


@pytest.mark.parametrize("rate", [0.0001, 0.001, 0.01, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("seed", [1, 2, 12345])
def test_loss_rate(rate: float, seed: int) -> None:
    lost = int(struck(rate, seed=seed).sum())
    assert abs(lost - PACKETS * rate) < 5 * sqrt(PACKETS * rate * (1 - rate))


def test_never_and_always() -> None:
    assert not struck(0.0).any()
    assert struck(1.0).all()


@pytest.mark.parametrize(
    "other", [{"seed": 2}, {"occurrence": 2}, {"fault": "loss-2"}], ids=["seed", "occurrence", "fault"]
)
def test_seeds_occurrences_and_faults_are_independent(other: dict[str, object]) -> None:
    rate = 0.1
    both = int((struck(rate) & struck(rate, **other)).sum())  # type: ignore[arg-type]
    p = rate * rate
    assert abs(both - PACKETS * p) < 5 * sqrt(PACKETS * p * (1 - p))


def test_neighbouring_psns_are_independent() -> None:
    lost = struck(0.1)
    pairs = int((lost[:-1] & lost[1:]).sum())
    # neighbouring pairs share packets, which widens the variance to n (p^2 + 2 p^3 - 3 p^4)
    assert abs(pairs - PACKETS * 0.01) < 5 * sqrt(PACKETS * (0.1**2 + 2 * 0.1**3 - 3 * 0.1**4))


CHAINS = [(0.002, 0.2), (0.01, 0.25), (0.05, 0.05), (0.6, 0.8)]
STEPS = 60_000


@pytest.mark.parametrize(("enter", "recover"), CHAINS)
def test_bursts_have_the_length_and_the_share_of_the_chain(enter: float, recover: float) -> None:
    """Stationary share p/(p+r); a burst lasts 1/r packets on average, geometrically; a gap 1/p."""
    p, r = threshold(enter), threshold(recover)
    stream = stream_key(3, "burst-1", "h1-s1", Direction.UP)
    bad = [burst_is_bad(stream, 99, psn, 1, 0, p, r) for psn in range(STEPS)]
    share, memory = enter / (enter + recover), 1 - enter - recover
    # the variance of a two-state chain's mean: n s (1-s) (1+m)/(1-m) with its memory m
    sigma = sqrt(STEPS * share * (1 - share) * (1 + memory) / (1 - memory))
    assert abs(sum(bad) - STEPS * share) < 5 * sigma
    bursts = [len(list(run)) for state, run in groupby(bad) if state]
    deviation = sqrt(1 - recover) / recover
    assert abs(np.mean(bursts) - 1 / recover) < 5 * deviation / sqrt(len(bursts))
    gaps = [len(list(run)) for state, run in groupby(bad) if not state]
    assert abs(np.mean(gaps) - 1 / enter) < 5 * sqrt(1 - enter) / enter / sqrt(len(gaps))


@pytest.mark.parametrize("psns", [64, 128, 256, 1024])
def test_a_chain_has_no_seams(psns: int) -> None:
    """Losses on both sides of every multiple of a power of two hang together as anywhere: P(bad | bad before) = 1 -
    r."""
    p, r = threshold(0.05), threshold(0.1)
    after = [
        burst_is_bad(7, flow, n, 1, 0, p, r)
        for flow in range(40)
        for n in range(psns, 40 * psns, psns)
        if burst_is_bad(7, flow, n - 1, 1, 0, p, r)
    ]
    assert abs(sum(after) - len(after) * 0.9) < 5 * sqrt(len(after) * 0.9 * 0.1)


def test_a_chain_slower_than_the_look_back_keeps_its_share() -> None:
    """Here most walks end undecided and draw from the stationary distribution."""
    p, r = threshold(0.00002), threshold(0.00006)
    bad = [burst_is_bad(7, flow, 0, 1, 0, p, r) for flow in range(400)]
    assert abs(sum(bad) - 400 * 0.25) < 5 * sqrt(400 * 0.25 * 0.75)


@pytest.mark.parametrize(
    "fault", [Loss("f", LINK, rate=0.2), Corrupt("f", LINK, rate=0.2), Duplicate("f", LINK, rate=0.2),
        EcnMark("f", LINK, rate=0.2)]
)  # fmt: skip
def test_every_kind_strikes_at_its_rate(fault: PacketFault) -> None:
    filter_, count = link_filter(fault, seed=21), 3000
    outcomes = [tuple(item.frame for item in filter_.admit(request(psn), 0)) for psn in range(count)]
    touched = sum(outcome != (request(psn),) for psn, outcome in enumerate(outcomes))
    told = 0
    while filter_.next_event() is not None:
        told += 1
    assert touched == told
    assert abs(touched - count * 0.2) < 5 * sqrt(count * 0.2 * 0.8)


def test_jitter_is_uniform() -> None:
    times = [link_filter(delay_ns=1000, jitter_ns=500).admit(request(psn), 0)[0].at for psn in range(1500)]
    assert min(times) >= 500
    assert max(times) <= 1500
    sigma = sqrt((1001**2 - 1) / 12)
    assert abs(np.mean(times) - 1000) < 5 * sigma / sqrt(len(times))
