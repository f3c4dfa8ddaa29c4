"""Built-in scenarios: what strikes a node or a link in the middle of a job strikes in the middle, in every world."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.faults.model import Kill, LinkDown, Pause
from testbed.runs.run import run_scenario
from testbed.scenario import builtin_names, load_scenario
from testbed.scenario.model import Scenario
from workloads.errors import ScenarioError

LATEST = 0.8
"""of the time that the job takes in peace: emulated orders come some milliseconds late, and what comes after the end
of the job strikes nothing"""


def _struck_later(scenario: Scenario) -> list[Kill | LinkDown | Pause]:
    return [fault for fault in scenario.faults if isinstance(fault, Kill | LinkDown | Pause) and fault.window.start_ns]


def _simulated() -> Iterator[Scenario]:
    for name in builtin_names():
        with suppress(ScenarioError):  # of the emulated world or the lab alone
            yield load_scenario(name, world="simulated")


STRUCK = [scenario for scenario in _simulated() if _struck_later(scenario)]


@pytest.mark.parametrize("scenario", STRUCK, ids=lambda scenario: scenario.name)
def test_a_blow_comes_before_the_end(scenario: Scenario, tmp_path: Path) -> None:
    blows = _struck_later(scenario)
    rest = tuple(fault for fault in scenario.faults if fault not in blows)
    metrics = run_scenario(replace(scenario, faults=rest), tmp_path / "run").document["metrics"]
    assert max(blow.window.start_ns for blow in blows) / 1e9 <= LATEST * metrics["jct_s"]
