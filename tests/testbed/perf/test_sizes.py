"""Sizes in the words of nccl-tests."""

from __future__ import annotations

import pytest

from testbed.perf.sizes import parse_bytes, sizes_between
from workloads.errors import ScenarioError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1K", 1024), ("64M", 64 << 20), ("2g", 2 << 30), ("1.5k", 1536), (".5M", 512 << 10), ("7", 7), ("0", 0),
        ("1KB", None), ("1KiB", None), ("-1", None), ("", None), ("1e3", None), ("2048G", None), ("K", None),
    ],
)  # fmt: skip
def test_a_size(text, size):
    assert parse_bytes(text) == size


def test_a_range_grows_by_a_factor_or_by_steps():
    assert sizes_between(1024, 10_000, factor=2, step=0) == (1024, 2048, 4096, 8192)
    assert sizes_between(1024, 4096, factor=None, step=1024) == (1024, 2048, 3072, 4096)
    assert sizes_between(8, 8, factor=None, step=1 << 20) == (8,)


def test_sizes_are_whole_elements_each_once():
    assert sizes_between(5, 13, factor=None, step=1) == (4, 8, 12)


@pytest.mark.parametrize(
    ("least", "most", "step", "text"),
    [
        (3, 8, 4, "-b: is less than one element; found 3 bytes; allowed: at least 4 bytes"),
        (8, 4, 4, "-e: is less than -b; found 4 bytes; allowed: at least 8 bytes"),
        (4, 4000, 4, "-i: too many sizes; allowed: at most 200 sizes, with a larger -f or -i"),
    ],
)
def test_what_is_no_range(least, most, step, text):
    with pytest.raises(ScenarioError) as caught:
        sizes_between(least, most, factor=None, step=step)
    assert str(caught.value) == f"tb perf: {text}"
