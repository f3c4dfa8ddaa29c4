"""One scenario and seed in a world of the test's choice, and in both: what has to be the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from testbed.checkers import CheckContext, strikes
from testbed.faults.model import PacketFault
from testbed.history import Record, sort_history
from testbed.plan import make_plan
from testbed.report.document import judge
from testbed.runs.run import create_world
from testbed.scenario import load_scenario
from tests.support.simulation import digests

__all__ = ["Ran", "assert_same_sums", "run_in"]

_SURE = 10
"""strikes in virtual time of a fault that strikes by chance: an emulated run sends other packets again, so the fault
strikes about as often there, and never with a chance of exp(-10)"""


@dataclass(frozen=True)
class Ran:
    document: dict[str, Any]
    context: CheckContext

    @property
    def history(self) -> list[Record]:
        return self.context.history

    def not_passed(self) -> dict[str, str]:
        """Why, by checker: empty after a pass."""
        return {check["name"]: check["detail"] for check in self.document["checks"] if check["verdict"] != "pass"}


def run_in(world: str, name: str, overrides: list[str], seed: int, folder: Path, patch: pytest.MonkeyPatch) -> Ran:
    """The emulated world's state is the test's own, and its time is real unless the scenario names a dilation."""
    patch.setenv("INA_STATE_DIR", str(folder / "state"))
    scenario = load_scenario(name, overrides, seed=seed, world=world)
    plan, records = make_plan(replace(scenario, dilation=scenario.dilation or 1)), list[Record]()
    (folder / world).mkdir()
    facts = create_world(world).run(plan, folder / world, records.append)
    context = CheckContext(plan, sort_history(records), facts.captures)
    return Ran(judge(context, facts, world=world, replay=""), context)


def assert_same_sums(name: str, overrides: list[str], seed: int, folder: Path, patch: pytest.MonkeyPatch) -> Ran:
    """Both worlds pass with equal sums; told is the run in virtual time."""
    simulated = run_in("simulated", name, overrides, seed, folder, patch)
    counts = strikes(simulated.context)
    chancy = [
        fault.name
        for fault in simulated.context.plan.scenario.faults
        if isinstance(fault, PacketFault) and fault.rate < 1
    ]
    rare = {name: counts[name] for name in chancy if counts[name] < _SURE}
    assert rare == {}, "faults that may never strike when the same scenario is emulated: raise their rates"
    emulated = run_in("emulated", name, overrides, seed, folder, patch)
    assert (simulated.not_passed(), emulated.not_passed()) == ({}, {})
    assert (simulated.document["verdict"], emulated.document["verdict"]) == ("pass", "pass")
    assert digests(emulated.history) == digests(simulated.history)
    return simulated
