from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from testbed.sweeps.statistics import CONFIDENCE, coverage_of, interval_words, summarise

SAMPLES = 20_000


def test_the_median_and_its_spread() -> None:
    found = summarise([4.0, 1.0, 3.0, 2.0])
    assert found is not None
    assert (found.median, found.least, found.most, found.count) == (2.5, 1.0, 4.0, 4)
    assert (found.lower_quartile, found.upper_quartile) == (1.75, 3.25)
    assert found.least <= found.low < found.median < found.high <= found.most


@pytest.fixture(scope="module")
def held() -> dict[int, float]:
    """Share of simulated samples of n values whose interval holds the true median, by n."""
    draw = np.random.default_rng(1)
    shares = {}
    for count in range(3, 21):
        ordered = np.sort(draw.exponential(size=(SAMPLES, count)), axis=1)
        found = summarise([float(value) for value in range(1, count + 1)])
        assert found is not None
        low, high = (ordered[:, int(end) - 1] for end in (found.low, found.high))
        shares[count] = float(np.mean((low <= np.log(2)) & (np.log(2) <= high)))
    return shares


@pytest.mark.parametrize("count", range(3, 21))
def test_the_interval_holds_the_true_median_as_often_as_it_says(held: dict[int, float], count: int) -> None:
    """Within what chance explains once in 10^6: the number of samples that hold it is binomial."""
    coverage = coverage_of(count)
    assert abs(held[count] - coverage) <= 4.9 * np.sqrt(coverage * (1 - coverage) / SAMPLES)
    assert coverage >= CONFIDENCE or (count < 6 and coverage == 1 - 0.5 ** (count - 1))


def test_the_interval_is_the_narrowest_with_that_coverage() -> None:
    for count in range(6, 21):
        found = summarise([float(value) for value in range(1, count + 1)])
        assert found is not None
        inside = int(found.low)
        narrower = 1 - 2 * sum(math.comb(count, k) for k in range(inside + 1)) / 2**count
        assert found.high == count + 1 - inside
        assert narrower < CONFIDENCE


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    page = Path("docs/sweeps.md").read_text(encoding="utf-8")
    table = page.partition("checked by tests/testbed/sweeps/test_statistics.py -->\n")[2].partition("<!-- end")[0]
    rows = [f"| {count} | {_place(count)} | {100 * coverage_of(count):.1f} % |" for count in range(3, 11)]
    assert table.splitlines()[2:] == rows


def _place(count: int) -> str:
    found = summarise([float(value) for value in range(1, count + 1)])
    assert found is not None
    return "range" if found.low == 1 else f"value {found.low:.0f} to {found.high:.0f}"


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([], ""),
        ([1, 2], ""),
        ([5, 5], "range: 93.8 % confidence interval of the median"),
        ([4, 5], "range: 87.5 to 93.8 % confidence interval of the median"),
        ([10], "97.9 % confidence interval of the median"),
        ([5, 10], "93.8 to 97.9 % confidence interval of the median"),
    ],
)
def test_an_interval_is_named_by_its_coverage(counts: list[int], words: str) -> None:
    assert interval_words(counts) == words


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
