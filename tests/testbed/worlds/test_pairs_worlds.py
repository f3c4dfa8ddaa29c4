"""The built-in scenarios of all-reduces by schedules of transfers, from file to verdict, in both worlds."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.passing import assert_passes
from tests.support.schedules import SCHEDULES
from tests.support.selection import in_both_worlds

CASES = ("lossy", "data-lost", "link-flap")


@pytest.mark.parametrize(
    ("name", "world"),
    in_both_worlds(
        [f"{name.replace('_', '-')}-{case}" for name in SCHEDULES for case in CASES]
        + ["binomial-tree", "sharded-ps", "rabenseifner-far-lossy"],
        emulated=["recursive-doubling-data-lost", "sharded-ps-link-flap", "rabenseifner-far-lossy"],
    ),
)
def test_a_built_in_passes(name: str, world: str, tmp_path: Path) -> None:
    scenario = load_scenario(name, ["job.size=200kB"] if name.endswith("-lossy") else [], world=world)
    result = run_scenario(scenario, tmp_path / "run")
    assert_passes(result.document)
    assert all(fault["strikes"] for fault in result.document["faults"])


@pytest.mark.parametrize(
    ("name", "recovery", "world"),
    in_both_worlds(
        product(["binomial-tree-lossy", "sharded-ps-lossy"], ["gbn", "irn", "irn-rack"]),
        emulated=[("binomial-tree-lossy", "irn-rack")],
    ),
)
def test_every_recovery(name: str, recovery: str, world: str, tmp_path: Path) -> None:
    scenario = load_scenario(name, ["job.size=100kB", f"transport.recovery={recovery}"], world=world)
    result = run_scenario(scenario, tmp_path / "run")
    assert_passes(result.document)
