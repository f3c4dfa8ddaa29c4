"""ATP and ESA in both worlds: one scenario and seed, the same sums, and a pass in each."""

from __future__ import annotations

import pytest

from tests.support.emulated import needs_root
from tests.support.simulation import digests
from tests.support.worlds import assert_same_sums

pytestmark = needs_root

SMALLER = ["job.size=60kB", "job.iterations=2"]


@pytest.mark.parametrize(
    ("name", "overrides", "seed"),
    [
        ("atp-two-jobs", [*SMALLER, "job.dtype=int32"], 2),
        ("esa-lossy", SMALLER, 3),
        pytest.param(
            "atp-server-restarted",
            ["faults.crash.from=100ms", "faults.crash.until=200ms"],
            4,
            marks=pytest.mark.minutes,
        ),
    ],
)
def test_both_worlds_make_the_same_sums(name, overrides, seed, tmp_path, monkeypatch):
    run = assert_same_sums(name, overrides, seed, tmp_path, monkeypatch)
    assert len(digests(run.history)) in (8, 12)
