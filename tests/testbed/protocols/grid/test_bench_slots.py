"""The table that counts packets of GOAT's example."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.protocols.grid import bench_slots as gridslots
from testbed.protocols.grid.bench_slots import slots
from testbed.sweeps.showing import read_sweep

_NAMES = ("packets.s1", "packets.s2", "packets.s3", "packets")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_papers_totals(here: Path) -> None:
    said: list[str] = []
    found = slots(said.append)
    assert {
        point.values["variant"]: tuple(outcome.figures[name] for name in _NAMES)
        for point, outcome in zip(found.finished.points, found.finished.outcomes, strict=True)
    } == {"together": (3, 3, 3, 9), "sticky": (5, 5, 7, 17), "fcfs": (4, 4, 6, 14), "goat": (5, 5, 3, 13)}
    assert found.missed == ()
    assert said[-1] == "plan-slots: 4 of 4 plans, 0 of them there already"
    shown = read_sweep(here / "runs" / "bench-grid" / "plan-slots")
    assert [outcome.figures for outcome in shown.outcomes] == [each.figures for each in found.finished.outcomes]
    assert slots(said.append).finished.reused == 4


def test_another_total_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gridslots._PRINTED, "sticky", 16)
    assert slots(lambda text: None).missed == ("sticky: 17 packets instead of 16",)
