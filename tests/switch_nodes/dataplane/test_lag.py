"""Percentiles from buckets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.dataplane.lag import LagHistogram


def test_no_lag_at_all() -> None:
    histogram = LagHistogram()
    assert (histogram.percentile_ns(99), histogram.max_ns, histogram.count) == (0, 0, 0)


def test_before_the_deadline_counts_as_in_time() -> None:
    histogram = LagHistogram()
    histogram.record(-5)
    assert histogram.percentile_ns(99) == 0


@settings(deadline=None)
@given(lags=st.lists(st.integers(0, 1 << 40), min_size=1), percent=st.sampled_from([1.0, 50.0, 99.0, 100.0]))
def test_percentile_is_at_most_an_eighth_too_high(lags: list[int], percent: float) -> None:
    histogram = LagHistogram()
    for lag in lags:
        histogram.record(lag)
    wanted = len(lags) * percent / 100
    exact = next(lag for rank, lag in enumerate(sorted(lags), 1) if rank >= wanted)
    assert exact <= histogram.percentile_ns(percent) <= exact * 9 // 8 + 1
    assert histogram.percentile_ns(percent) <= histogram.max_ns == max(lags)


def test_memory_is_bounded() -> None:
    histogram = LagHistogram()
    histogram.record(1 << 200)
    assert histogram.percentile_ns(50) <= 1 << 200
