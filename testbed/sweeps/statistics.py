"""Runs that differ by their seed alone, as one figure: median, spread, and a confidence interval of the median by
bootstrap."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["CONFIDENCE", "Summary", "summarise"]

CONFIDENCE = 0.95
_RESAMPLES = 5000
_SEED = 20
"""of the resampling: the same values give the same interval"""


@dataclass(frozen=True, slots=True)
class Summary:
    count: int
    median: float
    low: float
    """of the confidence interval of the median; equal to the median where there are fewer than three values, which say
    nothing of it"""
    high: float
    least: float
    most: float
    lower_quartile: float
    upper_quartile: float

    @property
    def has_interval(self) -> bool:
        return self.count >= 3


def summarise(values: Sequence[float]) -> Summary | None:
    """None where there are no values. The interval is of percentiles (Efron): that of bias correction is undefined for
    many equal values."""
    if not values:
        return None
    data = np.asarray(values, dtype=float)
    middle = float(np.median(data))
    low = high = middle
    if len(data) >= 3 and float(np.ptp(data)) > 0:
        from scipy import stats

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # degenerate resamples are fine for percentiles
            found = stats.bootstrap(
                (data,), np.median, confidence_level=CONFIDENCE, n_resamples=_RESAMPLES, method="percentile",
                rng=np.random.default_rng(_SEED),
            )  # fmt: skip
        low, high = float(found.confidence_interval.low), float(found.confidence_interval.high)
    quartiles = np.quantile(data, [0.25, 0.75])
    return Summary(
        len(data), middle, low, high, float(data.min()), float(data.max()), float(quartiles[0]), float(quartiles[1])
    )
