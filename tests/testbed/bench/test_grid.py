"""The published example, measured: in virtual time the loads are those of the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.bench import grid as bench
from testbed.bench.grid import grid_scenario, run_grid


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(bench._SETTINGS["simulated"], warm_ns=40_000_000, measured_ns=160_000_000)
    monkeypatch.setitem(bench._SETTINGS, "simulated", settings)


@pytest.mark.parametrize(("planner", "smallest"), [("geryon", 10e6), ("grid", 30e6)])
def test_loads_are_those_of_the_plan(planner: str, smallest: float) -> None:
    run = run_grid(grid_scenario(planner, "simulated", 1.0))
    assert run.min_rate_bps == pytest.approx(smallest, rel=0.02)
    for load in run.loads:
        assert load.ratio == pytest.approx(1, abs=0.03), load.name
    assert (run.bypassed, run.drops) == (0, 0)


def test_a_split_gradient_loads_links_and_switches_as_planned() -> None:
    run = run_grid(grid_scenario("atp", "simulated", 1.0))
    assert run.min_rate_bps == pytest.approx(24.375e6, rel=0.02)
    for load in run.loads:
        if load.name != "s3->ps":
            assert load.ratio == pytest.approx(1, abs=0.04), load.name


def test_more_than_the_plan_has_no_place() -> None:
    run = run_grid(grid_scenario("atp", "simulated", 1.3, overload=True))
    assert run.drops > 0 or run.bypassed > 0.01


@pytest.mark.parametrize("planner", ["geryon", "atp", "grid"])
def test_sums_are_exact_when_packets_are_lost(planner: str) -> None:
    row = bench._lossy(lambda text: None, planner, "simulated", 1)
    assert row.met
    assert row.ratio == pytest.approx(1, abs=0.1)
    assert int(row.note.split()[2]) > 0


def test_rows_compare_and_miss() -> None:
    run = run_grid(grid_scenario("geryon", "simulated", 1.0))
    settings = bench._SETTINGS["simulated"]
    slower = replace(run, loads=tuple(replace(load, measured_bps=0.9 * load.measured_bps) for load in run.loads))
    assert not any(row.met for row in bench._load_rows("geryon", [slower], replace(settings, rate_within=0.02)))
    assert all(
        row.met for row in bench._load_rows("geryon", [run], replace(settings, rate_within=0.04, load_within=0.04))
    )
