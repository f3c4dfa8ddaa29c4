"""Distributions of flow sizes."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.flows.sizes import BUILT_IN, FlowSizes, built_in, parse_sizes, problem_of


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_distributions_hold_their_rules(name: str) -> None:
    sizes = built_in(name)
    assert problem_of(sizes.points) == ""
    assert sizes.at(1) == sizes.points[-1][0]
    for size, percent in sizes.points[1:]:
        assert sizes.at(percent / 100) == size
        assert sizes.share_up_to(size) == pytest.approx(percent / 100)


@pytest.mark.parametrize("name", BUILT_IN)
def test_means_are_those_of_many_draws(name: str) -> None:
    sizes, draw, mtu, count = built_in(name), random.Random(1), 1024, 40_000
    drawn = [sizes.at((number + draw.random()) / count) for number in range(count)]
    assert sum(drawn) / count == pytest.approx(sizes.mean, rel=0.002)
    assert sum(-(-size // mtu) for size in drawn) / count == pytest.approx(sizes.mean_packets(mtu), rel=0.002)


def test_a_fixed_size() -> None:
    sizes = FlowSizes("", ((5000, 0), (5000, 100)))
    assert {sizes.at(share) for share in (0, 0.3, 1)} == {5000}
    assert (sizes.mean, sizes.mean_packets(1024)) == (5000, 5)


def test_a_size_between_two_points_lies_on_the_straight_line() -> None:
    sizes = FlowSizes("", ((0, 0), (1000, 50), (3000, 100)))
    assert [sizes.at(share) for share in (0, 0.25, 0.5, 0.75, 1)] == [1, 500, 1000, 2000, 3000]


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 99)), min_size=1, max_size=6), st.floats(0, 1))
def test_sizes_rise_with_the_share(pairs: list[tuple[int, int]], share: float) -> None:
    steps = zip(sorted(size for size, _ in pairs), sorted(percent for _, percent in pairs), strict=True)
    points = ((0, 0), *dict.fromkeys(steps), (2 * 10**6, 100))
    sizes = FlowSizes("", tuple(points))
    assert problem_of(points) == ""
    assert 1 <= sizes.at(share) <= 2 * 10**6
    assert all(a <= b for a, b in pairwise(sizes.at(step / 50) for step in range(51)))


def test_a_file_has_a_size_and_a_percentage_per_line() -> None:
    assert parse_sizes("0 0\n# half\n1000 50\n\n2000 100 # all\n") == ((0, 0), (1000, 50), (2000, 100))


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("0 0\nmany 100\n", "line 2: a size in bytes and a cumulative percentage, as 1000 50"),
        ("0 0 0\n1 100\n", "line 1: a size in bytes and a cumulative percentage, as 1000 50"),
        ("0 0\n", "two points or more, each of a size and a percentage"),
        ("0 1\n10 100\n", "the first percentage is 0, and the last one 100"),
        ("0 0\n10 99\n", "the first percentage is 0, and the last one 100"),
        ("0 0\n10 60\n5 100\n", "sizes and percentages that rise from line to line"),
        ("0 0\n10 60\n10 60\n20 100\n", "sizes and percentages that rise from line to line"),
        ("0 0\nnan 50\n20 100\n", "numbers of 0 or more"),
        ("0 0\n2000000000 100\n", "a largest size of 1 to 1073741824 bytes"),
        ("0 0\n0 100\n", "a largest size of 1 to 1073741824 bytes"),
    ],
)  # fmt: skip
def test_what_a_file_may_not_hold(text: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=re.escape(allowed)):
        parse_sizes(text)
