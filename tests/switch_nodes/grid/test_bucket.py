"""The token bucket: its rate in the long run, its depth at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.grid.bucket import TokenBucket


def test_it_is_full_at_first_and_gives_no_more_than_its_depth_at_once() -> None:
    bucket = TokenBucket(8e9, 1_000)
    assert bucket.take(1_000, 0)
    assert not bucket.take(1, 0)
    assert bucket.take(1, 1)
    assert not bucket.take(1_001, 10_000)
    assert bucket.take(1_000, 10_000), "what was refused cost nothing"


def test_without_a_rate_it_takes_nothing() -> None:
    assert not TokenBucket(0.0, 1_000_000).take(1, 5)


@given(st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(60, 1_500)), min_size=1, max_size=200))
def test_no_stretch_of_time_gets_more_than_rate_and_depth(steps: list[tuple[int, int]]) -> None:
    bucket, now, taken = TokenBucket(3e6, 5_000_000), 0, list[tuple[int, int]]()
    for pause, size in steps:
        now += pause
        if bucket.take(size, now):
            taken.append((now, size))
    for first in range(len(taken)):
        size = 0
        for at, more in taken[first:]:
            size += more
            assert size * 8e9 / 3e6 <= at - taken[first][0] + 5_000_000 + 1
