"""The built-in scenarios of strategies, from file to verdict, in both worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.passing import assert_passes
from tests.support.selection import in_both_worlds


@pytest.mark.parametrize(
    ("name", "world"),
    in_both_worlds(["strategy", "strategy-lossy", "strategy-esa"], emulated=["strategy-lossy"]),
)
def test_a_built_in_passes(name: str, world: str, tmp_path: Path) -> None:
    result = run_scenario(load_scenario(name, world=world), tmp_path / "run")
    assert_passes(result.document)
    assert all(fault["strikes"] for fault in result.document["faults"])
