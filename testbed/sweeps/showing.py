"""The folder of a sweep -> what is there, also while the sweep runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testbed.sweeps.plan import PLAN_FILE
from testbed.sweeps.plots.options import PlotOptions
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome, Point, ScenarioSweep, Variant
from testbed.sweeps.store import read_results
from workloads.errors import ScenarioError
from workloads.trusted import require_trusted

__all__ = ["read_sweep"]

_PENDING = Outcome("pending")


def read_sweep(folder: Path) -> FinishedScenarios:
    """Of a folder, whatever is there; runs without a result are pending. Raises ScenarioError."""
    require_trusted(folder)
    path = folder / PLAN_FILE
    if not path.is_file():
        raise ScenarioError(
            "has no sweep of scenarios", file="tb sweep", key="--show", found=str(folder),
            allowed="the folder of a sweep, or the name of one in runs/sweeps",
        )  # fmt: skip
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        sweep = _sweep(data["sweep"])
        points = [_point(folder, each) for each in data["points"]]
        keys, names = [each["key"] for each in data["points"]], [each["name"] for each in data["points"]]
        found = read_results(folder)
        outcomes = [
            Outcome("invalid", reason=point.problem)
            if point.problem
            else Outcome(**found[key])
            if key in found
            else _PENDING
            for key, point in zip(keys, points, strict=True)
        ]
        code = str(data["code"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScenarioError(
            f"is damaged: {error}",
            file=str(path),
            allowed="the file as `tb sweep` wrote it",
            hint="run the sweep again",
        ) from error
    done = sum(outcome.is_done for outcome in outcomes)
    return FinishedScenarios(sweep, tuple(points), tuple(outcomes), tuple(names), done, 0, code, folder)


def _point(folder: Path, data: dict[str, Any]) -> Point:
    """With its scenario where it was computed."""
    labels = tuple((str(name), value) for name, value in data["labels"])
    file = folder / "points" / str(data["name"]) / "scenario.yaml"
    text = "" if data["problem"] or not file.is_file() else file.read_text(encoding="utf-8")
    return Point(
        labels, data["seed"], data["world"], text, problem=data["problem"], expect=data["expect"], repeat=data["repeat"]
    )


def _sweep(data: dict[str, Any]) -> ScenarioSweep:
    plot = data["plot"]
    size, scale = plot["size_in"], tuple((axis, kind) for axis, kind in plot["scale"])
    options = PlotOptions(**plot | {"size_in": size and tuple(size), "scale": scale, "formats": tuple(plot["formats"])})
    variants = tuple(
        Variant(each["label"], each["protocol"], tuple((key, value) for key, value in each["changes"]))
        for each in data["variants"]
    )
    return ScenarioSweep(
        data["name"], data["description"], tuple(data["scenarios"]), variants,
        tuple((key, tuple(values)) for key, values in data["axes"]), tuple(data["seeds"]), tuple(data["worlds"]),
        figures=tuple(data["figures"]), plot=options,
    )  # fmt: skip
