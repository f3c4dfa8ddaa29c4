"""The table that counts packets of GOAT's example."""

from __future__ import annotations

import pytest

from testbed.bench import gridslots
from testbed.bench.gridslots import slots


def test_the_papers_totals() -> None:
    said: list[str] = []
    table = slots(said.append)
    assert [row[:-1] for row in table.rows] == [
        ("together", "3", "3", "3", "9"),
        ("sticky", "5", "5", "7", "17"),
        ("fcfs", "4", "4", "6", "14"),
        ("goat", "5", "5", "3", "13"),
    ]
    assert table.missed == ()
    assert said == ["slots: GOAT's example"]


def test_another_total_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gridslots._PRINTED, "sticky", 16)
    assert slots(lambda text: None).missed == ("sticky: 17 packets instead of 16",)
