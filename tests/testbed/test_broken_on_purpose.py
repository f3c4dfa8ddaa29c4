"""The protocol broken on purpose: a built-in scenario must turn red, and by the check that is there for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario

MUTANTS = Path(__file__).resolve().parents[1] / "support" / "netreduce_mutants.py"
BROKEN = [
    ("ClearedOnArrival", "rack-lossy", "liveness"),
    ("NoTag", "stale-duplicate", "bit_exact"),
    ("ReplayToAll", "result-lost", "transparency"),
    ("RetransmissionCountedTwice", "rack-lossy", "bit_exact"),
    ("RetransmissionRecounted", "rack-lossy", "exactly_once"),
    ("NSlots", "rack-lossy", "liveness"),
]


@pytest.mark.parametrize(("mutant", "scenario", "check"), BROKEN, ids=[row[0] for row in BROKEN])
def test_a_scenario_turns_red(mutant: str, scenario: str, check: str, tmp_path: Path) -> None:
    changes = [f"switch.program={MUTANTS}:{mutant}"]
    result = run_scenario(load_scenario(scenario, changes, world="simulated"), tmp_path / "run")
    failed = [item["name"] for item in result.document["checks"] if item["verdict"] == "fail"]
    assert check in failed
    assert result.exit_code == 1
