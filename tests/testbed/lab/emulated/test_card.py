"""What an emulated card writes down is bounded, and says where it was cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from switch_nodes.fpga.events import CardCommanded
from testbed.lab.emulated.card import Trace
from workloads.machine import FrameBatch


def _events(prefix: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in prefix.with_suffix(".jsonl").read_text().splitlines()]


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return Trace(str(tmp_path / "card"), ["h1-s1"], limit_bytes=3000)


def _frames(trace: Trace, count: int) -> None:
    batch = FrameBatch.of(count, 1500)
    batch.lengths[:], batch.ports[:] = 500, 0
    batch.count = count
    trace.record(batch, 0, count, 1, False)


def test_all_is_there_below_the_limit(trace: Trace, tmp_path: Path) -> None:
    _frames(trace, 2)
    for _ in range(5):
        trace.tell(CardCommanded("reset", "none"))
    trace.close()
    assert [event["event"] for event in _events(tmp_path / "card")] == ["CardCommanded"] * 5
    assert (tmp_path / "card.pcapng").stat().st_size > 1000


@pytest.mark.parametrize("much", ["events", "frames"])
def test_what_is_too_much_is_cut_and_that_is_said_once(trace: Trace, tmp_path: Path, much: str) -> None:
    for _ in range(60 if much == "events" else 0):
        trace.tell(CardCommanded("reset", "none"))
    for _ in range(60 if much == "frames" else 0):
        _frames(trace, 1)
    for _ in range(3):
        trace.tell(CardCommanded("stop", "none"))
        _frames(trace, 1)
    trace.flush()
    events = _events(tmp_path / "card")
    assert [event["event"] for event in events].count("CaptureCut") == 1
    assert (events[-1]["event"], events[-1]["limit_bytes"]) == ("CaptureCut", 3000)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2 * 3000 + 500


def test_a_start_begins_anew(trace: Trace, tmp_path: Path) -> None:
    for _ in range(60):
        trace.tell(CardCommanded("reset", "none"))
    trace.again()
    trace.tell(CardCommanded("start", "none"))
    trace.close()
    assert [event["event"] for event in _events(tmp_path / "card")] == ["CardCommanded"]
