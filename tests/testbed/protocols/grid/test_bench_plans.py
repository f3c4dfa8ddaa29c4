"""Tables of plans: small ones, and what they say when something does not hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from testbed.protocols.grid import bench_plans as gridplans
from testbed.protocols.grid.bench_planned import generator
from testbed.protocols.grid.bench_plans import random_problem, rounding, run_plans
from testbed.protocols.grid.bench_slots import slots
from workloads.errors import ScenarioError


def _quiet(text: str) -> None:
    del text


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_rounding_counts_every_draw() -> None:
    example, random = rounding(_quiet, draws=40, topologies=3)
    assert example.missed == random.missed == ()
    first, second = example.finished.outcomes
    assert (first.figures["repaired"], second.figures["repaired"]) == (40, 40)
    assert [outcome.figures["repaired"] for outcome in random.finished.outcomes] == [15, 15]
    assert (first.figures["gap.worst"], first.figures["feasible"]) == (pytest.approx(0, abs=5e-5), 0)


def test_random_problems_are_the_same_for_a_seed() -> None:
    assert random_problem(generator(4)) == random_problem(generator(4))
    assert random_problem(generator(4)) != random_problem(generator(5))


def test_a_table_with_a_miss_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(
        gridplans.TABLES, "slots", lambda say, seeds: [replace(slots(say), notes=("so",), missed=("it broke",))]
    )
    assert run_plans("slots") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("GOAT's example: packets that leave switches")
    assert lines[-3:] == ["so", "  MISSED: it broke", ""]
    assert run_plans("slots", as_json=True) == 1
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["sweep"], document["missed"]) == ("plan-slots", ["it broke"])
    assert [result["figures"]["packets"] for result in document["results"]] == [9, 17, 14, 13]


def test_sensitivity_is_monotone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gridplans, "_CAPACITIES", range(9, 11))
    monkeypatch.setattr(gridplans, "_INGRESS", range(8, 10))
    found = gridplans.sensitivity(_quiet)
    assert found.missed == ()
    rates = {
        (point.values["variant"], point.values["switch Gbps"], point.values["server Gbps"]): float(
            outcome.figures["min_rate_bps"] or 0
        )
        for point, outcome in zip(found.finished.points, found.finished.outcomes, strict=True)
    }
    assert [round(rates["grid-exact", 9, server] / 1e9, 3) for server in (8, 9)] == [2.667, 3]
    assert {round(rate / 1e9, 3) for (planner, *_), rate in rates.items() if planner == "grid-lp"} == {3}


@pytest.mark.parametrize(
    ("rates", "missed"),
    [
        ({"grid-lp": 2e9, "grid-exact": 3e9}, "capacity 9, ingress 8: one node each beats split"),
        ({"grid-lp": 2e9, "grid-exact": 1e9}, None),
    ],
)
def test_sensitivity_says_what_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, rates: dict[str, float], missed: str | None
) -> None:
    monkeypatch.setattr(gridplans, "_CAPACITIES", range(9, 11))
    monkeypatch.setattr(gridplans, "_INGRESS", range(8, 9))

    @wraps(gridplans.smallest_rate)  # under its name, by which a point finds it
    def falling(values: Mapping[str, Any], seed: int) -> dict[str, float]:
        return {"min_rate_bps": rates[values["variant"]] / values["switch Gbps"]}

    monkeypatch.setattr(gridplans, "smallest_rate", falling)
    found = gridplans.sensitivity(_quiet).missed
    assert (missed in found) == (missed is not None)
    assert "capacity 10, ingress 8: more capacity, less rate" in found


def test_seeds_are_the_tables_that_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []
    monkeypatch.setitem(gridplans.TABLES, "scale", lambda say, seeds: asked.append(seeds) or [])
    assert run_plans("scale", seeds=3) == run_plans("scale") == 0
    assert asked == [3, 10]
    with pytest.raises(ScenarioError, match="tb bench grid: --seeds: only the table scale is drawn that often"):
        run_plans("growth", seeds=3)
