"""Points that a program makes, in place of the scenarios of a sweep file, with figures of its own."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.history import Record
from testbed.scenario.model import Scenario
from testbed.sweeps import scenario_engine
from testbed.sweeps.loader import load_sweep
from testbed.sweeps.scenario_engine import FinishedScenarios, run_scenario_sweep
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_model import Point, ScenarioSweep
from testbed.sweeps.scenario_points import make_points
from testbed.sweeps.scenario_report import write_scenario_files
from testbed.sweeps.showing import read_sweep
from testbed.sweeps.where import computing


def measure(scenario: Scenario, history: Sequence[Record], document: Mapping[str, Any]) -> dict[str, float | None]:
    return {"closed_form_s": scenario.job.size_bytes / 1e9, "records": len(history), "seed": document["seed"]}


def small(*worlds: str) -> tuple[ScenarioSweep, list[Point]]:
    words = SweepWords(seeds=2, worlds=worlds or ["simulated"], overrides=["job.size=8kB"])
    sweep = load_sweep(["rack"], words)
    assert isinstance(sweep, ScenarioSweep)
    return sweep, [replace(point, measure=f"{__name__}:measure") for point in make_points(sweep)]


def run(sweep: ScenarioSweep, made: Sequence[Point], folder: Path, jobs: int = 1) -> FinishedScenarios:
    return run_scenario_sweep(sweep, folder, computing(jobs, None), lambda *_: None, made=made)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of workers import this module."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))


def test_its_figures_stand_among_those_of_the_run(tmp_path: Path) -> None:
    sweep, made = small()
    done = run(sweep, made, tmp_path)
    assert [outcome.status for outcome in done.outcomes] == ["done"] * 2, done.outcomes[0].reason
    assert [outcome.figures["closed_form_s"] for outcome in done.outcomes] == [8e-6] * 2
    assert [outcome.figures["seed"] for outcome in done.outcomes] == [1, 2]
    assert all((outcome.figures["records"] or 0) > 10 for outcome in done.outcomes)
    write_scenario_files(done, tmp_path)
    rows = list(csv.DictReader((tmp_path / "results.csv").open(encoding="utf-8")))
    assert [row["closed_form_s"] for row in rows] == ["8e-06"] * 2
    assert [outcome.figures for outcome in read_sweep(tmp_path).outcomes] == [each.figures for each in done.outcomes]
    assert run(sweep, made, tmp_path).reused == 2


def test_without_it_and_with_another_one_the_run_is_another() -> None:
    _, (point, _) = small()
    keys = {each.key("code") for each in (point, replace(point, measure=""), replace(point, measure="a:b"))}
    assert len(keys) == 3


def test_a_change_of_its_code_makes_its_results_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(scenario_engine, "model_version", lambda *modules: asked.append(modules) or "code")
    _, (point, _) = small()
    scenario_engine._version(point)
    scenario_engine._version(replace(point, measure=""))
    assert asked == [("testbed.sweeps.compute", __name__), ("testbed.sweeps.compute",)]


def test_one_that_fails_is_a_failed_point(tmp_path: Path) -> None:
    sweep, (point, _) = small()
    done = run(sweep, [replace(point, measure=f"{__name__}:nothing")], tmp_path)
    assert done.outcomes[0].status == "failed"
    assert "nothing" in done.outcomes[0].reason


def test_repeats_of_one_run_are_runs_of_their_own(tmp_path: Path) -> None:
    sweep, (point, _) = small()
    made = [replace(point, repeat=number) for number in (1, 2, 3)]
    assert len({each.key("code") for each in made} | {each.name for each in made}) == 6
    done = run(sweep, made, tmp_path)
    assert len((tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    rows = list(csv.DictReader((tmp_path / "results.csv").open(encoding="utf-8")))
    assert [row["repeat"] for row in rows] == ["1", "2", "3"]
    assert [each.repeat for each in read_sweep(tmp_path).points] == [1, 2, 3]
    assert run(sweep, made, tmp_path).reused == 3
    assert len(done.points) == 3


def test_a_value_of_set_in_a_sweep_file_is_the_one_that_stands_there(tmp_path: Path) -> None:
    """`capture: false` is no text, and `none` is one."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\nscenarios: [rack]\nseeds: 2\n"
        "set: {capture: false, job.size: 8kB, topology: {kind: rack, hosts: 4, link: {rate: 100Mbps, mtu: 1500}}}\n",
        encoding="utf-8",
    )
    sweep = load_sweep(str(path))
    assert isinstance(sweep, ScenarioSweep)
    assert all("\ncapture: false\n" in point.text for point in make_points(sweep))
