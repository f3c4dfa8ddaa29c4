from __future__ import annotations

import pytest

from testbed.protocols.netreduce import bench_fabric as fabric
from testbed.protocols.netreduce.bench_fabric import bench_fabric, predicted_factor


@pytest.mark.parametrize(("hosts", "closed"), [(2, 2 * 7 / 8 * 2), (4, 2 * 15 / 16 * 2)])
def test_the_prediction(hosts: int, closed: float) -> None:
    """The ring has one of two uplinks, NetReduce both."""
    assert predicted_factor(hosts, 1_000_000, 100_000_000) == pytest.approx(closed)


def test_hosts_that_are_slower_than_their_uplinks_bound_both() -> None:
    """Eight hosts under 4:1 have uplinks of their own rate each."""
    assert predicted_factor(8, 1_000_000, 100_000_000) == pytest.approx(2 * 31 / 32)


def test_the_bench_in_the_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabric, "_SEEDS", (1,))
    monkeypatch.setattr(fabric, "_SIMULATED", (100_000_000, 1_000_000))
    said: list[str] = []
    rows = bench_fabric(said.append)
    assert [row.what.partition(",")[0] for row in rows] == [
        "ring time / NetReduce time", "bytes of a leaf up the fabric", "ring time / NetReduce time",
        "bytes of a leaf up the fabric",
    ]  # fmt: skip
    assert all(row.met for row in rows[1::2])
    assert all(row.ratio == 1.0 for row in rows[1::2])
    assert all(0.8 < row.ratio < 1.1 for row in rows[::2])
