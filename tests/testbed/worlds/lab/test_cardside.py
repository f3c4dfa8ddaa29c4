"""What a card's trace becomes, and what is said of one that was cut."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.history import Record
from testbed.worlds.lab.cardside import tell_card
from tests.support.records import a_record
from workloads.errors import LabError


def _told(folder: Path, events: list[dict[str, object]]) -> list[Record]:
    lines = [json.dumps({"t": 1000 + number, "node": "card", **event}) for number, event in enumerate(events)]
    (folder / "f1-trace.jsonl").write_text("".join(f"{line}\n" for line in lines))
    card: Any = SimpleNamespace(name="fpga0", host="f1", trace="/run/card")
    driver: Any = SimpleNamespace(card=card, trace=lambda path, capture: None, counters=lambda: {"icrc": 3})
    told: list[Record] = []
    assert tell_card(driver, "s1", folder, 1000, told.append, None) == ()
    return told


def test_records_are_those_of_the_switch_counted_from_the_start(tmp_path: Path) -> None:
    told = _told(tmp_path, [{"event": "A"}, {"event": "B"}])
    assert told[:2] == [a_record(0, "s1", "A"), a_record(1, "s1", "B")]


def test_totals_that_a_trace_lacks_are_those_of_its_registers(tmp_path: Path) -> None:
    told = _told(tmp_path, [{"event": "A"}])
    assert told[1:] == [a_record(0, "s1", "SwitchStatistics", counters={"icrc": 3})]


def test_totals_of_a_trace_are_taken(tmp_path: Path) -> None:
    told = _told(tmp_path, [{"event": "SwitchStatistics", "counters": {"icrc": 1}}])
    assert told == [a_record(0, "s1", "SwitchStatistics", counters={"icrc": 1})]


def test_a_trace_that_was_cut_judges_nothing(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="f1: the trace of card fpga0 was cut at 3000 bytes"):
        _told(tmp_path, [{"event": "A"}, {"event": "CaptureCut", "limit_bytes": 3000}])
