"""Sweeps whose results are made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from testbed.scenario import load_scenario
from testbed.scenario.dump import dump_scenario
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome, Point, ScenarioSweep, Variant

__all__ = ["is_data", "made_up"]


def made_up(
    outcome: Callable[[Mapping[str, Any], int], Outcome | float],
    *,
    variants: Sequence[str] = (),
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: int = 8,
    figure: str = "jct_s",
    scenario: str = "rack-lossy",
) -> FinishedScenarios:
    """`outcome`: (labels, seed) -> what came out there, or the figure alone."""
    sweep = ScenarioSweep(
        "made-up", "", (scenario,), tuple(Variant(label) for label in variants),
        tuple((key, tuple(values)) for key, values in (axes or {}).items()), tuple(range(1, seeds + 1)),
        ("simulated",), figures=(figure,),
    )  # fmt: skip
    text = dump_scenario(load_scenario(scenario, world="simulated"))
    points, outcomes = [], []
    for variant in variants or (None,):
        for values in product(*(axes or {}).values()):
            labels = {"scenario": scenario, **({} if variant is None else {sweep.variant_name: variant})}
            labels |= dict(zip(axes or {}, values, strict=True))
            for seed in sweep.seeds:
                found = outcome(labels, seed)
                points.append(Point(tuple(labels.items()), seed, "simulated", text))
                outcomes.append(found if isinstance(found, Outcome) else Outcome("done", "pass", {figure: found}))
    names = tuple(f"point{number}" for number in range(len(points)))
    return FinishedScenarios(sweep, tuple(points), tuple(outcomes), names, 0, 0, "code", Path())


def is_data(line: Any) -> bool:
    """Whether the heights of a line of matplotlib are values of its axis."""
    place, area = (0.5, 10.0), line.axes
    return bool(abs(line.get_transform().transform(place)[1] - area.transData.transform(place)[1]) < 1e-6)
