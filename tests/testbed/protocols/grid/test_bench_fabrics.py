"""Jobs on the fabrics of the paper, in virtual time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.plan import make_plan
from testbed.protocols.grid import bench_fabrics as gridfabrics
from testbed.protocols.grid.bench_fabrics import (
    FabricRun,
    bench_fabrics,
    expected_bps,
    fabric_point,
    fabric_scenario,
    run_of,
)
from testbed.protocols.grid.bench_sizes import FABRICS
from testbed.scenario.model import Scenario
from testbed.sweeps.compute import compute_point, task_of
from testbed.sweeps.scenario_model import Outcome
from tests.support.selection import some_at_once
from topologies import LinkShape, spine_leaf

_SMALL = LinkShape(rate_bps=100_000_000_000, mtu=9000)


def run_fabric(scenario: Scenario) -> FabricRun:
    """By way of the text that a sweep keeps."""
    found = compute_point(**task_of(fabric_point(scenario, "fabric", "planner")))
    assert found["verdict"] == "pass", found["reason"]
    found.pop("document")
    return run_of(Outcome(**found))


@pytest.mark.parametrize("planner", ["grid", "geryon"])
def test_sums_come_at_the_plans_rate(planner: str) -> None:
    run = run_fabric(fabric_scenario(spine_leaf([5] * 4, 3, _SMALL), 12, planner, 120))
    assert run.measured_bps == pytest.approx(run.expected_bps, rel=0.02)
    assert run.expected_bps == run.planned_bps


@pytest.mark.parametrize("fabric", some_at_once(FABRICS, late=["fat tree 80/192"]))
def test_sums_come_at_the_plans_rate_on_the_papers_fabrics(fabric: str) -> None:
    run = run_fabric(fabric_scenario(FABRICS[fabric](), 32, "grid"))
    assert 0.98 * run.expected_bps <= run.measured_bps <= 1.02 * run.planned_bps


def test_results_on_a_full_link_leave_less_than_the_plan() -> None:
    plan = make_plan(fabric_scenario(spine_leaf([5] * 4, 3, _SMALL), 12, "grid"))
    (routed,) = plan.routing
    assert expected_bps(plan) == routed.plan.min_rate_bps
    # The same routes where the link that brings one worker its results takes half of them.
    worker = plan.workers[0].name
    links = tuple(
        replace(link, shape=replace(link.shape, rate_bps=int(routed.plan.min_rate_bps / 2)))
        if worker in (link.a, link.b)
        else link
        for link in plan.scenario.topology.links
    )
    narrow = replace(plan.scenario, topology=replace(plan.scenario.topology, links=links))
    assert expected_bps(replace(plan, scenario=narrow)) == pytest.approx(routed.plan.min_rate_bps / 2)


def test_rows_miss_what_is_too_slow_and_what_no_plan_allows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gridfabrics, "FABRICS", {"small": lambda: spine_leaf([5] * 4, 3, _SMALL)})
    monkeypatch.setattr(gridfabrics, "_WORKERS", 4)
    for measured, met in ((25e9, True), (26e9, True), (24e9, False), (35e9, False)):
        monkeypatch.setattr(gridfabrics, "run_of", lambda outcome, rate=measured: FabricRun(33e9, 25e9, rate))
        rows = bench_fabrics(lambda text: None)
        assert [row.met for row in rows] == [met, met]
        assert rows[0].note == "with results on full links 25.0 Gbit/s"
