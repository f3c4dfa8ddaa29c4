from __future__ import annotations

from pathlib import Path

from testbed.history import read_history
from testbed.replay import compare, replay
from testbed.run import run_scenario
from testbed.scenario import load_scenario


def test_a_replay_in_virtual_time_repeats_every_record_and_a_changed_one_is_named(tmp_path: Path) -> None:
    scenario = load_scenario("data-middle-lost", world="simulated")
    first = run_scenario(scenario, tmp_path / "first")
    again = replay(first.run_dir, tmp_path / "again")
    assert (again.differences, again.exit_code) == ((), 0)
    history = list(read_history(first.run_dir / "history.jsonl"))
    done = next(record for record in history if record["event"] == "CollectiveCompleted")
    done["sha256"] = "00"
    changed = compare("fail", history, again.result, "simulated")
    assert changed.exit_code == 1
    assert changed.differences[0] == "verdict: fail before, pass now"
    assert f"result of {done['node']}, iteration 0: not the same bytes" in changed.differences
