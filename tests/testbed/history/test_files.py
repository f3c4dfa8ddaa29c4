"""The history of a run while it goes on, and of one that was killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import main
from testbed.history import HistoryLog, OwnEvent, Record, read_history, sort_history, write_history
from testbed.runs.kepthistory import load_history

_TOP = next(folder for folder in Path(__file__).resolve().parents if (folder / "setup.cfg").exists())


def record(t: int, node: str = "h1", **more: Any) -> Record:
    return Record(t, node, OwnEvent("X", more))


def test_in_real_time_each_record_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with HistoryLog(path) as log:
        for number in (3, 1, 2):
            log.add(record(number))
            assert [found.t for found in read_history(path)][-1] == number


def test_in_virtual_time_records_wait_for_a_while_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [10.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    path = tmp_path / "history.jsonl"
    with HistoryLog(path, hold_s=0.5) as log:
        log.add(record(1))
        clock[0] = 10.4
        log.add(record(2))
        assert list(read_history(path)) == []
        clock[0] = 10.5
        log.add(record(3))
        assert len(list(read_history(path))) == 3
        log.add(record(4))
        assert len(list(read_history(path))) == 3
    assert len(list(read_history(path))) == 4


def test_no_more_than_so_many_records_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[HistoryLog.__module__], "_HELD_RECORDS", 3)
    path = tmp_path / "history.jsonl"
    with HistoryLog(path, hold_s=1e9) as log:
        for number, there in enumerate((0, 0, 3, 3, 3, 6)):
            log.add(record(number))
            assert len(list(read_history(path))) == there


def _break(log: HistoryLog, records: list[Record]) -> None:
    with contextlib.suppress(OSError), log:
        for each in records:
            log.add(each)
        raise OSError("the wire was cut")


def test_in_the_end_the_file_is_as_if_it_had_been_written_sorted(tmp_path: Path) -> None:
    records = [
        record(t, node, text="a\r\nb\u2028") for t, node in ((5, "h2"), (5, "h1"), (1, "h9"), (5, "h1"), (7, "h1"))
    ]
    log = HistoryLog(tmp_path / "log", hold_s=60)
    _break(log, records)
    assert log.records == records
    write_history(tmp_path / "sorted", sort_history(records))
    assert (tmp_path / "log").read_bytes() == (tmp_path / "sorted").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "sorted"]


def test_a_history_in_the_order_of_arrival_is_read_by_time(tmp_path: Path) -> None:
    write_history(tmp_path / "history.jsonl", [record(3), record(1, "h2"), record(1)])
    assert [(each.t, each.node) for each in load_history(tmp_path).records] == [(1, "h1"), (1, "h2"), (3, "h1")]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run that got SIGKILL while its traffic was on."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    words = ["run", "rack", "--world", "simulated", "--set", "job.size=24MB", "--set", "topology.link.rate=10Gbps"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "testbed", *words, "--out", str(folder)], cwd=_TOP,
        env={**os.environ, "PYTHONPATH": str(_TOP)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (folder / "history.jsonl").exists():
            time.sleep(0.05)
        while time.monotonic() < deadline and b"TrafficStarted" not in (folder / "history.jsonl").read_bytes():
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return folder


def test_a_killed_run_leaves_what_it_told(killed: Path) -> None:
    assert {path.name for path in killed.iterdir()} >= {"scenario.yaml", "history.jsonl"}
    assert not (killed / "result.json").exists()
    assert any(each.name == "TrafficStarted" for each in load_history(killed).records)


def test_a_replay_of_a_killed_run_says_what_is_missing(killed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = len(load_history(killed).records)
    assert main(["replay", str(killed)]) == 64
    text = (
        f"tb: {killed}: this run did not end: it was killed, or still goes on, and there is no verdict to compare "
        "with; found "
        f"scenario.yaml, {told:,} records of history (`tb timeline {killed}` draws them), no result.json; allowed: a "
        "run that "
        f"ended; `tb run {killed}/scenario.yaml` runs it again\n"
    )
    assert capsys.readouterr() == ("", text)


def test_the_timeline_of_a_killed_run_is_drawn_and_said_to_be_a_part(
    killed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["timeline", str(killed), "--to", "1ms"]) == 0
    out, err = capsys.readouterr()
    assert out
    assert err.splitlines()[-1] == f"tb: {killed}: this run did not end; what it recorded until then is drawn"


def test_a_run_without_any_history_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scenario.yaml").write_text("name: x\n")
    (tmp_path / "history.jsonl").touch()
    assert main(["replay", str(tmp_path)]) == 64
    assert "found scenario.yaml, no history, no result.json; allowed:" in capsys.readouterr().err
