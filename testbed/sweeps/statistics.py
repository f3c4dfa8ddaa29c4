"""Runs that differ by their seed alone, as one figure: median, spread, and an exact confidence interval of the median.

The interval reaches from the k-th smallest value to the k-th largest. It misses the true median only if fewer than k of
n values lie on one side of it. That is a binomial probability, whatever the distribution of the values is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["CONFIDENCE", "Summary", "coverage_of", "interval_words", "summarise"]

CONFIDENCE = 0.95
"""confidence that an interval has at least, from six values on; fewer have the coverage of their range, which
is less"""
_LEAST = 3


@dataclass(frozen=True, slots=True)
class Summary:
    count: int
    median: float
    low: float
    """Lower end of the confidence interval of the median; the median where there are fewer than three values."""
    high: float
    least: float
    most: float
    lower_quartile: float
    upper_quartile: float
    coverage: float | None = None
    """Probability that such an interval holds the true median, at least; None where there is no interval."""

    @property
    def has_interval(self) -> bool:
        return self.coverage is not None


def summarise(values: Sequence[float]) -> Summary | None:
    """None where there are no values."""
    if not values:
        return None
    data = np.sort(np.asarray(values, dtype=float))
    count, middle = len(data), float(np.median(data))
    low = high = middle
    coverage = None
    if count >= _LEAST:
        inside, coverage = _order(count)
        low, high = float(data[inside - 1]), float(data[count - inside])
    quartiles = np.quantile(data, [0.25, 0.75])
    return Summary(
        count, middle, low, high, float(data[0]), float(data[-1]), float(quartiles[0]), float(quartiles[1]), coverage
    )


def coverage_of(count: int) -> float:
    """Of the interval of so many values, three or more."""
    return _order(count)[1]


def interval_words(counts: Iterable[int]) -> str:
    """What stands in brackets after medians of so many values each; empty: nothing does. `range: 93.8 % confidence
    interval` where the interval is the range of the values."""
    found = sorted({count for count in counts if count >= _LEAST})
    if not found:
        return ""
    levels = list(dict.fromkeys(f"{100 * coverage_of(count):.1f}" for count in found))
    level = levels[0] if len(levels) == 1 else f"{min(levels, key=float)} to {max(levels, key=float)}"
    whole = "range: " if all(_order(count)[0] == 1 for count in found) else ""
    return f"{whole}{level} % confidence interval of the median"


def _order(count: int) -> tuple[int, float]:
    """(k, coverage) of the narrowest interval from the k-th smallest to the k-th largest value that has the confidence;
    k is 1 where none has it."""
    from scipy.special import bdtr

    found = 1, float(1 - 2 * bdtr(0, count, 0.5))
    for k in range(2, count // 2 + 1):
        coverage = float(1 - 2 * bdtr(k - 1, count, 0.5))
        if coverage < CONFIDENCE:
            break
        found = k, coverage
    return found
