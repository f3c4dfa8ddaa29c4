"""Estimates of what a search has not seen, against populations whose size is known."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from scipy.stats import binomtest

from testbed.hunt.unseen import Unseen, chao2, wilson


@pytest.mark.parametrize(("hits", "of", "low", "high"), [(0, 100, 0.0, 0.037), (10, 100, 0.0552, 0.1744)])
def test_wilson(hits: int, of: int, low: float, high: float) -> None:
    """Textbook values."""
    found = wilson(hits, of)
    assert found.value == hits / of
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-4)


def test_nothing_is_known_of_nothing() -> None:
    assert wilson(0, 0) == chao2(0, 0, 0, 1) == Unseen(1.0, 0.0, 1.0)
    assert chao2(10, 0, 4, 50) == Unseen(0.0, 0.0, 0.0)


def test_chao2_by_hand() -> None:
    """40 seen, 10 once, 5 twice, many samples: 10 * 10 / (2 * 5) = 10 are missing."""
    assert chao2(40, 10, 5, 10**9).value == pytest.approx(10 / 50)
    assert chao2(40, 3, 0, 10**9).value == pytest.approx(3 / 43)


def test_intervals_hold_the_truth_in_most_samples() -> None:
    """100 behaviours of equal chance 2 %: 60 schedules leave about 30 of them unseen."""
    held = 0
    for seed in range(200):
        dice = Random(seed)
        counts: Counter[int] = Counter()
        for _ in range(60):
            counts.update(behaviour for behaviour in range(100) if dice.random() < 0.02)
        often = Counter(counts.values())
        found = chao2(len(counts), often[1], often[2], 60)
        held += found.low <= 1 - len(counts) / 100 <= found.high
    assert held >= 180


@pytest.mark.parametrize(("hits", "of"), [(0, 7), (1, 1), (3, 40), (17, 32), (250, 10_000), (9_999, 10_000)])
def test_wilson_is_that_of_scipy(hits: int, of: int) -> None:
    """The closed form, since importing scipy.stats takes a second of each hunt."""
    theirs = binomtest(hits, of).proportion_ci(0.95, method="wilson")
    found = wilson(hits, of)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-12, abs=1e-15)
