"""The published example, measured: in virtual time the loads are those of the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.bench import swept
from testbed.figures.routes import MeasuredRoute
from testbed.history import Record
from testbed.plan import make_plan
from testbed.protocols.grid import bench
from testbed.protocols.grid.bench import GridRun, grid_scenario, loads, run_of
from testbed.runs.run import judge_scenario
from testbed.scenario import parse_scenario
from testbed.scenario.model import Scenario
from testbed.sweeps.scenario_model import Outcome
from testbed.sweeps.showing import read_sweep


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(bench._SETTINGS["simulated"], warm_ns=40_000_000, measured_ns=160_000_000)
    monkeypatch.setitem(bench._SETTINGS, "simulated", settings)


def run_grid(scenario: Scenario) -> GridRun:
    history: list[Record] = []
    document = judge_scenario(scenario, "", history)
    assert scenario.time_limit_ns < 60_000_000_000 or document["verdict"] == "pass"
    return run_of(Outcome("done", document["verdict"], loads(scenario, history, document)))


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
    row = bench._lossy(planner, "simulated", run_grid(grid_scenario(planner, "simulated", 1.0, loss=bench._LOSS)))
    assert row.met
    assert row.ratio == pytest.approx(1, abs=0.1)
    assert int(row.note.split()[2]) > 0


def test_rows_compare_and_miss() -> None:
    run = run_grid(grid_scenario("geryon", "simulated", 1.0))
    settings = bench._SETTINGS["simulated"]
    slower = replace(run, loads=tuple(replace(load, measured_bps=0.9 * load.measured_bps) for load in run.loads))
    assert {row.world for row in bench._load_rows(bench._PLANNERS[0], [run], settings, "simulated")} == {"simulated"}
    assert not any(
        row.met
        for row in bench._load_rows(bench._PLANNERS[0], [slower], replace(settings, rate_within=0.02), "simulated")
    )
    assert all(
        row.met
        for row in bench._load_rows(
            bench._PLANNERS[0], [run], replace(settings, rate_within=0.04, load_within=0.04), "simulated"
        )
    )


def test_slower_divides_every_rate_and_leaves_frames_and_time() -> None:
    usual, slow = (grid_scenario("atp", "emulated", 0.98, slower=number) for number in (1, 4))
    assert usual.routing is not None
    assert slow.routing is not None
    rates = [{link.name: link.shape.rate_bps for link in each.topology.links} for each in (usual, slow)]
    assert rates[1] == {name: rate // 4 for name, rate in rates[0].items()}
    assert (usual.routing.capacity_bps, slow.routing.capacity_bps) == (90_000_000, 22_500_000)
    assert usual.job.size_bytes == pytest.approx(4 * slow.job.size_bytes, rel=0.01), "as long, at a quarter of the rate"
    assert replace(slow.routing, capacity_bps=usual.routing.capacity_bps) == usual.routing
    assert slow.transport == usual.transport
    plans = [make_plan(each).routing[0].plan for each in (usual, slow)]
    assert plans[1].min_rate_bps == pytest.approx(plans[0].min_rate_bps / 4)


def test_ratios_do_not_depend_on_how_slow_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"geryon": 10e6, "atp": 24.375e6, "grid": 30e6}

    def runs(say: object, world: str, slower: int) -> dict[tuple[str, str], list[GridRun]]:
        measured: dict[tuple[str, str], list[GridRun]] = {}
        for point in bench._points(world, slower):
            scenario = parse_scenario(point.text, "x")
            assert scenario.routing is not None
            assert scenario.routing.capacity_bps == 30_000_000
            rate, overloaded = found[scenario.routing.planner] / slower, scenario.routing.pace > 1
            run = GridRun((MeasuredRoute("w1", rate, rate),), rate, 0.0, int(overloaded), 0, "pass")
            measured.setdefault((point.values["variant"], point.values["run"]), []).append(run)
        return measured

    monkeypatch.setattr(bench, "_runs", runs)
    rows = bench.bench_grid(lambda text: None, "simulated", slower=3)
    assert all(row.met for row in rows)
    ratios = {row.what: row.median for row in rows if row.what.startswith("smallest")}
    assert ratios == pytest.approx({"smallest rate, atp / geryon": 2.4375, "smallest rate, grid / geryon": 3.0})
    found["atp"] *= 0.9
    rows = bench.bench_grid(lambda text: None, "simulated", slower=3)
    assert [row.what for row in rows if not row.met] == ["smallest rate, atp / geryon"]


def test_runs_are_kept_as_a_sweep_and_not_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "_PLANNERS", bench._PLANNERS[:1])
    found = bench._runs(lambda text: None, "simulated", 1)
    assert set(found) == {("geryon", kind) for kind in ("as planned", "overloaded", "lossy")}
    (plain,), (lossy,) = found["geryon", "as planned"], found["geryon", "lossy"]
    assert (plain.strikes, lossy.strikes > 0) == (0, True)
    assert [load.name for load in plain.loads][:4] == ["w1", "w2", "w3", "w4"]
    shown = read_sweep(tmp_path / "runs" / "bench-grid" / "grid-simulated")
    assert [run_of(outcome) for outcome in shown.outcomes] == [run for runs in found.values() for run in runs]
    monkeypatch.setattr(swept, "_compute_here", lambda points: pytest.fail("what is there is not run again"))
    assert bench._runs(lambda text: None, "simulated", 1) == found
