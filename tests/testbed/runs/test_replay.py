from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.history import read_history
from testbed.runs.replay import compare, read_run, replay
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario


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
    digest = next(record["sha256"] for record in first.history if record["event"] == "CollectiveCompleted")
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
    done = next(record for record in history if record["event"] == "CollectiveCompleted")
    done["sha256"] = "00"
    changed = compare("fail", history, again.result, "simulated")
    assert changed.exit_code == 1
    assert changed.differences[0] == "verdict: fail before, pass now"
    assert f"result of {done['node']}, iteration 0: not the same bytes" in changed.differences


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
        ("history.jsonl", b'{"t":0,"node":"h1","event":"X"}\nrubbish\n', "{0}/history.jsonl:2: cannot be read; found Expecting value: line 1 column 1 (char 0)"),
        ("history.jsonl", b"[1,2]\n", "{0}/history.jsonl:1: no record of a history; found no t, node and event"),
        ("history.jsonl", b"\xff\n", "{0}/history.jsonl:1: cannot be read; found 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ("result.json", b"[]", "{0}/result.json: not the result of a run; found list; allowed: a mapping"),
        ("result.json", b"{}", "{0}/result.json: verdict: not the result of a run; found nothing; allowed: pass, fail, unknown"),
        ("result.json", b'{"verdict": "fine"}', '{0}/result.json: verdict: not the result of a run; found "fine"; allowed: pass, fail, unknown'),
        ("result.json", b'{"verdict": ["pass"]}', '{0}/result.json: verdict: not the result of a run; found ["pass"]; allowed: pass, fail, unknown'),
        ("result.json", b'{"verdict": "pass", "world": 1}', "{0}/result.json: world: not the result of a run; found 1; allowed: emulated, simulated, lab"),
        ("result.json", b"{\n  x", "{0}/result.json:2: not the result of a run; found Expecting property name enclosed in double quotes: line 2 column 3 (char 4)"),
        ("result.json", b"\xff", "{0}/result.json: not the result of a run; found 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ("result.json", None, "{0}: not the directory of a finished run; found [Errno 2] No such file or directory: '{0}/result.json'"),
    ],
)  # fmt: skip
def test_a_damaged_run_directory_is_refused_before_anything_runs(
    finished: Path, tmp_path: Path, file: str, content: bytes | None, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = damaged(finished, tmp_path / "run", file, content), tmp_path / "out"
    assert main(["replay", str(folder), "--out", str(out)]) == 64
    assert capsys.readouterr() == ("", f"tb: {text.format(folder)}\n")
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
    more = {"t": 1, "node": "h9", "event": "CollectiveCompleted", "iteration": 3, "sha256": "00"}
    compared = compare("pass", [*read_run(finished).history.records, more], again.result, "")
    assert compared.differences == ("result of h9, iteration 3: there before, missing now",)
