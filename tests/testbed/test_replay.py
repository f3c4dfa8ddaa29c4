from __future__ import annotations

import json
import re
from pathlib import Path

from testbed.history import read_history
from testbed.replay import compare, read_run, replay
from testbed.run import run_scenario
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
