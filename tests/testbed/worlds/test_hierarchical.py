"""The built-in scenarios over machines, from file to verdict and report, in both worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.passing import assert_passes
from tests.support.selection import in_both_worlds


@pytest.mark.parametrize(
    ("name", "world"),
    in_both_worlds(["hierarchical-lossy", "hierarchical-tencent"], emulated=["hierarchical-lossy"]),
)
def test_a_built_in_passes(name: str, world: str, tmp_path: Path) -> None:
    scenario = load_scenario(name, ["job.size=60kB", "topology.machines=2"], world=world)
    result = run_scenario(scenario, tmp_path / "run")
    assert_passes(result.document)
    assert all(fault["strikes"] for fault in result.document["faults"])
    assert "this run has phases" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
