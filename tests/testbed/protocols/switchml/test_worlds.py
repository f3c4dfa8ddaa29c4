"""SwitchML in both worlds: one scenario and seed, the same sums, and a pass in each."""

from __future__ import annotations

import pytest

from tests.support.emulated import needs_root
from tests.support.simulation import digests
from tests.support.worlds import assert_same_sums

pytestmark = needs_root

SMALLER = ["job.size=60kB", "job.iterations=2"]
OFTEN = ["faults.loss.rate=2%", "faults.damage.rate=10%", "faults.first-packets.rate=20%", "faults.marks.rate=10%"]


@pytest.mark.parametrize(
    ("name", "overrides", "seed"),
    [
        ("switchml", [*SMALLER, "job.dtype=int32"], 2),
        ("switchml-lossy", [*SMALLER, "faults.loss.rate=5%"], 3),
        ("switchml-uc", [*SMALLER, "job.dtype=int32"], 4),
        ("switchml-uc-lossy", [*SMALLER, *OFTEN], 5),
    ],
)
def test_both_worlds_make_the_same_sums(name, overrides, seed, tmp_path, monkeypatch):
    run = assert_same_sums(name, overrides, seed, tmp_path, monkeypatch)
    assert len(digests(run.history)) == 8
