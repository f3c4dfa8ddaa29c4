from __future__ import annotations

import numpy as np
import pytest

from testbed.sweeps.statistics import summarise


def test_the_median_and_its_spread() -> None:
    found = summarise([4.0, 1.0, 3.0, 2.0])
    assert found is not None
    assert (found.median, found.least, found.most, found.count) == (2.5, 1.0, 4.0, 4)
    assert (found.lower_quartile, found.upper_quartile) == (1.75, 3.25)
    assert found.least <= found.low < found.median < found.high <= found.most


def test_the_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    """95 % by name; for the median of 15 values the percentile interval is known to hold a little less or more, so
    between 88 and 99.5 %."""
    draw = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        found = summarise(list(draw.exponential(size=15)))
        assert found is not None
        held += found.low <= np.log(2) <= found.high
    assert 0.88 <= held / 200 <= 0.995


def test_two_values_say_nothing_of_an_interval() -> None:
    found = summarise([1.0, 3.0])
    assert found is not None
    assert not found.has_interval
    assert (found.low, found.median, found.high) == (2.0, 2.0, 2.0)
    assert summarise([]) is None


@pytest.mark.parametrize("values", [[5.0] * 10, [5.0] * 9 + [6.0]])
def test_equal_values_have_a_narrow_interval_and_not_none(values: list[float]) -> None:
    found = summarise(values)
    assert found is not None
    assert found.low == found.median == 5.0
    assert np.isfinite(found.high)


def test_the_same_values_give_the_same_interval() -> None:
    values = list(np.random.default_rng(2).normal(size=10))
    assert summarise(values) == summarise(values)
