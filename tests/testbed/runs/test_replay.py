from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.faults.events import FaultStruck
from testbed.history import of_kind, read_history
from testbed.runs.replay import compare, read_run, replay, why_bytes_depend_on_time
from testbed.runs.run import RunResult, run_scenario
from testbed.scenario import load_scenario
from tests.support.records import a_record, event_with
from tests.support.selection import some_at_once
from workloads.events import CollectiveCompleted


def test_results_are_compared_across_worlds_and_times_are_not(tmp_path: Path) -> None:
    first = run_scenario(load_scenario("rack", ["job.size=20kB"], 1, "simulated"), tmp_path / "first")
    document = json.loads((first.run_dir / "result.json").read_text())
    (first.run_dir / "result.json").write_text(json.dumps({**document, "world": "lab"}))
    history = (first.run_dir / "history.jsonl").read_text()
    (first.run_dir / "history.jsonl").write_text(history + history.splitlines()[-1] + "\n")
    again = replay(read_run(first.run_dir, "simulated"), tmp_path / "again")
    assert (again.differences, again.exit_code) == ((), 0)
    assert again.compared[0] == "8 results"
    assert not any("history" in text for text in again.compared)
    digest = next(record.event.sha256 for record in first.history if isinstance(record.event, CollectiveCompleted))
    (first.run_dir / "history.jsonl").write_text(history.replace(digest, "0" * 64, 1))
    other = replay(read_run(first.run_dir, "simulated"), tmp_path / "other")
    assert other.exit_code == 1
    assert re.fullmatch(r"result of h\d, iteration \d: not the same bytes", other.differences[0])


def test_a_replay_in_virtual_time_repeats_every_record_and_a_changed_one_is_named(tmp_path: Path) -> None:
    scenario = load_scenario("data-middle-lost", world="simulated")
    first = run_scenario(scenario, tmp_path / "first")
    again = replay(read_run(first.run_dir), tmp_path / "again")
    assert (again.differences, again.exit_code) == ((), 0)
    history = list(read_history(first.run_dir / "history.jsonl"))
    done = next(record for record in history if isinstance(record.event, CollectiveCompleted))
    history[history.index(done)] = event_with(done, sha256="00")
    changed = compare("fail", history, again.result, "simulated")
    assert changed.exit_code == 1
    assert changed.differences[0] == "verdict: fail before, pass now"
    assert f"result of {done.node}, iteration 0: not the same bytes" in changed.differences


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    return run_scenario(load_scenario("rack", ["job.size=20kB"], 1, "simulated"), folder).run_dir


def damaged(finished: Path, folder: Path, file: str, content: bytes | None) -> Path:
    """A copy of the run in which one file has other content, or is not there."""
    folder.mkdir()
    for path in finished.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("file", "content", "text"),
    [
        ("history.jsonl", None, "{0}: not a run directory; found no history.jsonl in it; allowed: as runs/latest"),
        ("history.jsonl", b'{"t":0,"node":"h1","event":"X"}\nrubbish\n',
            "{0}/history.jsonl:2: cannot be read; found Expecting value: line 1 column 1 (char 0)"),
        ("history.jsonl", b"[1,2]\n", "{0}/history.jsonl:1: no record of a history; found no t, node and event"),
        ("history.jsonl", b"\xff\n", ("{0}/history.jsonl:1: cannot be read; found 'utf-8' codec can't decode byte 0xff "
                                     "in position 0: invalid start byte")),
        ("result.json", b"[]", "{0}/result.json: not the result of a run; found list; allowed: a mapping"),
        ("result.json", b"{}", ("{0}/result.json: verdict: not the result of a run; found nothing; allowed: pass, "
                                "fail, "
                               "unknown")),
        ("result.json", b'{"verdict": "fine"}', ('{0}/result.json: verdict: not the result of a run; found "fine"; '
                                                'allowed: pass, fail, unknown')),
        ("result.json", b'{"verdict": ["pass"]}', ('{0}/result.json: verdict: not the result of a run; found ["pass"]; '
                                                  'allowed: pass, fail, unknown')),
        ("result.json", b'{"verdict": "pass", "world": 1}', ("{0}/result.json: world: not the result of a run; found "
                                                             "1; "
                                                            "allowed: emulated, simulated, lab")),
        ("result.json", b"{\n  x", ("{0}/result.json:2: not the result of a run; found Expecting property name "
                                    "enclosed "
                                   "in double quotes: line 2 column 3 (char 4)")),
        ("result.json", b"\xff", ("{0}/result.json: not the result of a run; found 'utf-8' codec can't decode byte "
                                  "0xff "
                                 "in position 0: invalid start byte")),
        ("result.json", None, ("{0}: this run did not end: it was killed, or still goes on, and there is no verdict to "
                              "compare with; found scenario.yaml, {1} records of history (`tb timeline {0}` draws "
                              "them), no result.json; allowed: a run that ended; `tb run {0}/scenario.yaml` runs it "
                              "again")),
    ],
)  # fmt: skip
def test_a_damaged_run_directory_is_refused_before_anything_runs(
    finished: Path, tmp_path: Path, file: str, content: bytes | None, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = damaged(finished, tmp_path / "run", file, content), tmp_path / "out"
    records = (finished / "history.jsonl").read_bytes().count(b"\n")
    assert main(["replay", str(folder), "--out", str(out)]) == 64
    assert capsys.readouterr() == ("", f"tb: {text.format(folder, records)}\n")
    assert not out.exists()


@pytest.mark.parametrize("cut", [True, False], ids=["in a line", "between lines"])
def test_results_that_a_cut_history_lacks_are_missing_not_wrong(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, cut: bool
) -> None:
    lines = (finished / "history.jsonl").read_bytes().splitlines(keepends=True)
    number = next(index for index, line in enumerate(lines) if b'"CollectiveCompleted"' in line)
    kept = b"".join(lines[: number + 1]) + (lines[number + 1][:9] if cut else b"")
    folder = damaged(finished, tmp_path / "run", "history.jsonl", kept)
    assert main(["replay", str(folder), "--out", str(tmp_path / "out"), "-q"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert (told[0] == f"differs: the history is cut after line {number + 1} (of the run before)") == cut
    missing = [line for line in told if line.endswith("missing in the history of the run before")]
    assert len(missing) == 7
    assert not any("not the same bytes" in line for line in told)
    assert told[-1].startswith("compared: 1 results, ")


def test_results_that_are_missing_now_are_said_to_be(finished: Path, tmp_path: Path) -> None:
    again = replay(read_run(finished), tmp_path / "again")
    more = a_record(1, "h9", "CollectiveCompleted", iteration=3, sha256="00")
    compared = compare("pass", [*read_run(finished).history.records, more], again.result, "")
    assert compared.differences == ("result of h9, iteration 3: there before, missing now",)


@pytest.fixture(scope="module")
def of_datagrams(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A run of SwitchML with losses, of which 30 strike data on its first way."""
    folder = tmp_path_factory.mktemp("datagrams") / "run"
    return run_scenario(load_scenario("switchml-lossy", ["job.size=100kB"], 1, "simulated"), folder)


def test_strikes_on_datagrams_are_compared(of_datagrams: RunResult) -> None:
    history = read_run(of_datagrams.run_dir).history.records
    same = compare("pass", history, of_datagrams, "")
    assert (same.differences, same.compared) == ((), ("12 results", "30 hits on first transmissions of data"))
    data = [found for found in of_kind(history, FaultStruck) if found.event.packet.startswith("data ")]
    lacking = compare("pass", [record for record in history if record is not data[0]], of_datagrams, "")
    (difference,) = lacking.differences
    found = data[0].event
    assert difference == (f"hit now, not before: {found.fault} on {found.target} {found.direction}, {found.packet}")
    assert re.search(r", data 10\.77\.0\.\d>10\.77\.255\.1 job 1 packet \d+ #[0-9a-f]{16}$", difference)
    other = [event_with(record, packet=found.packet[:-1] + "x") if record is data[0] else record for record in history]
    assert [text.partition(":")[0] for text in compare("pass", other, of_datagrams, "").differences] == [
        "hit before, not now", "hit now, not before",
    ]  # fmt: skip


def test_what_depends_on_time_is_not_compared_across_worlds(of_datagrams: RunResult) -> None:
    """Results, repetitions, and what has passed a switch that may have changed it."""
    history = read_run(of_datagrams.run_dir).history.records
    data = next(found for found in of_kind(history, FaultStruck) if found.event.packet.startswith("data "))
    for change in (
        {"packet": data.event.packet.replace("data ", "result ")},
        {"packet": data.event.packet.replace("data ", "data again ")},
        {"direction": "down"},
        {"occurrence": 2},
    ):
        more = [*history, event_with(data, fault="other", **change)]
        assert compare("pass", more, of_datagrams, "").differences == ()
    assert compare("pass", [*history, event_with(data, fault="other")], of_datagrams, "").differences


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("switchml-two-jobs", [], ""),
        ("atp-lossy", [], ""),
        ("grid-lossy", [], ""),
        ("atp-two-jobs", [], "jobs that share slots move to other ones when their packets meet"),
        ("esa-lossy", [], "packets carry a priority (esa-default) that depends on time"),
        ("esa-lossy", ["job.priority=layer"], ""),
        ("grid-link-down", [], "packets carry what their route asks for, and routes are planned again meanwhile"),
    ],
)
def test_where_the_bytes_of_a_first_transmission_depend_on_time(name: str, changes: list[str], reason: str) -> None:
    assert why_bytes_depend_on_time(load_scenario(name, changes, world="simulated")) == reason


def test_a_replay_says_why_it_compares_no_strikes(tmp_path: Path) -> None:
    first = run_scenario(load_scenario("esa-lossy", ["job.size=40kB"], 1, "simulated"), tmp_path / "first")
    history = read_run(first.run_dir).history.records
    assert compare("pass", history, first, "").compared[1] == (
        "no hits, since packets carry a priority (esa-default) that depends on time"
    )
    assert compare("pass", history, first, "simulated").compared[1].endswith(" hits on first transmissions of data")


@pytest.mark.parametrize("name", some_at_once(["switchml-lossy", "atp-lossy", "grid-lossy"], quick=["atp-lossy"]))
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_datagrams_have_the_same_fate_in_real_time(name: str, tmp_path: Path) -> None:
    first = run_scenario(load_scenario(name, ["job.size=40kB"], 1, "simulated"), tmp_path / "first")
    again = replay(read_run(first.run_dir, "emulated"), tmp_path / "again")
    assert again.differences == ()
    assert int(again.compared[1].split()[0]) >= 3
