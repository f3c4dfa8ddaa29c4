"""SwitchML in both worlds: one scenario and seed, the same sums, and a pass in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checkers import CheckContext
from testbed.history import Record, sort_history
from testbed.plan import make_plan
from testbed.report.document import judge
from testbed.run import create_world
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.simulation import digests

pytestmark = needs_root

SMALLER = ["job.size=60kB", "job.iterations=2"]


def run(world: str, name: str, overrides: list[str], seed: int, folder: Path) -> tuple[list[Record], str]:
    scenario = load_scenario(name, overrides, seed=seed, world=world)
    plan, records = make_plan(scenario), []
    folder.mkdir()
    facts = create_world(world).run(plan, folder, records.append)
    history = sort_history(records)
    return history, judge(CheckContext(plan, history, facts.captures), facts, world=world, replay="")["verdict"]


@pytest.mark.parametrize(
    ("name", "overrides", "seed"),
    [
        ("switchml", [*SMALLER, "job.dtype=int32"], 2),
        ("switchml-lossy", [*SMALLER, "faults.loss.rate=5%"], 3),
        ("switchml-uc", [*SMALLER, "job.dtype=int32"], 4),
        ("switchml-uc-lossy", SMALLER, 5),
    ],
)
def test_both_worlds_make_the_same_sums(name, overrides, seed, tmp_path, monkeypatch):
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    worlds = ("simulated", "emulated")
    (one, verdict), (other, emulated_verdict) = (run(w, name, overrides, seed, tmp_path / w) for w in worlds)
    assert (verdict, emulated_verdict) == ("pass", "pass")
    assert digests(one) == digests(other)
    assert len(digests(one)) == 8
