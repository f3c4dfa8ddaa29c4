"""GRID's routes in the emulated world: sums, loss and replanning on real packets, at rates that a busy machine keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.checkers import CheckContext
from testbed.history import Record, sort_history
from testbed.metrics import metrics
from testbed.plan import make_plan
from testbed.report.document import judge
from testbed.run import create_world
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.simulation import digests, expected_digests

pytestmark = needs_root

SLOW = ["topology.link.rate=3Mbps", "topology.server_link.rate=9Mbps", "routing.capacity=9Mbps"]


def run(
    world: str, name: str, overrides: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], list[Record], CheckContext]:
    """(document, history, context) of a run; folders of the emulated world are its own."""
    monkeypatch.setenv("INA_STATE_DIR", str(folder / "state"))
    plan, records = make_plan(load_scenario(name, overrides, seed=3, world=world)), list[Record]()
    (folder / world).mkdir()
    facts = create_world(world).run(plan, folder / world, records.append)
    context = CheckContext(plan, sort_history(records), facts.captures)
    return judge(context, facts, world=world, replay=""), context.history, context


@pytest.mark.parametrize(
    ("name", "overrides"),
    [("grid", ["job.size=100kB"]), ("grid-lossy", ["job.size=100kB", "job.iterations=1", "job.dtype=int32"])],
)
def test_both_worlds_make_the_same_sums(name, overrides, tmp_path, monkeypatch):
    emulated, history, context = run("emulated", name, [*SLOW, *overrides], tmp_path, monkeypatch)
    simulated, other, _ = run("simulated", name, [*SLOW, *overrides], tmp_path, monkeypatch)
    assert (emulated["verdict"], simulated["verdict"]) == ("pass", "pass")
    assert digests(history) == digests(other) == expected_digests(context.plan)
    assert len(digests(history)) == 8


def test_a_link_that_dies_is_planned_around_and_no_gradient_is_lost(tmp_path, monkeypatch):
    overrides = [*SLOW, "job.size=500kB", "faults.l1.from=500ms"]
    document, history, context = run("emulated", "grid-link-down", overrides, tmp_path, monkeypatch)
    assert document["verdict"] == "pass"
    assert digests(history) == expected_digests(context.plan)
    installed = {(record["node"], record["planner"]) for record in history if record["event"] == "PlanInstalled"}
    assert installed == {("s1", "grid"), ("s2", "grid"), ("s3", "grid")}
    assert [record["node"] for record in history if record["event"] == "JobResumed"] == ["ps"]
    (change,) = metrics(context)["routing"]["replans"]
    assert (change["at_s"], change["installed_s"]) == (0.5, 0.55)
    assert change["planned_bps"] == pytest.approx(1.5e6)
    assert change["first_sum_s"] >= 0.05, "no sum of the new plan before it is installed"
    assert change["recovered_s"] is None or change["recovered_s"] >= change["first_sum_s"]
