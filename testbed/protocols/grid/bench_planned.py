"""Tables of plans as sweeps: a point is planned, and nothing is sent."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeAlias

from testbed.bench.swept import FOLDER, Say
from testbed.sweeps.scenario_engine import FinishedScenarios, run_scenario_sweep
from testbed.sweeps.scenario_model import Point, ScenarioSweep, Variant, name_of
from testbed.sweeps.scenario_report import write_scenario_files

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FoundTable", "Planned", "generator", "run_planned"]


Figure: TypeAlias = Callable[[Mapping[str, Any], int], Mapping[str, float]]
"""(labels, seed) -> figures"""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table, and what was expected of it."""

    finished: FinishedScenarios
    notes: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    """expectations that do not hold"""


@dataclass(frozen=True, slots=True)
class Planned:
    """What is planned."""

    name: str
    description: str
    figure: Figure
    variants: tuple[str, ...]
    axes: Mapping[str, Sequence[Any]]
    figures: tuple[str, ...]
    """shown"""
    seeds: tuple[int, ...] = (1,)

    def points(self) -> Iterator[Point]:
        """Seed by seed inside of each place, so that what they share is made once."""
        places: list[tuple[tuple[str, Any], ...]] = [()]
        for axis, values in self.axes.items():
            places = [(*place, (axis, value)) for place in places for value in values]
        for place in places:
            for seed in self.seeds:
                for variant in self.variants:
                    labels = (("scenario", self.name), ("variant", variant), *place)
                    yield Point(labels, seed, "", json.dumps([labels, seed]), measure=name_of(self.figure))


def run_planned(say: Say, table: Planned) -> FinishedScenarios:
    """Kept in `runs/bench-grid`: the same command goes on there."""
    sweep = ScenarioSweep(
        table.name, table.description, (table.name,), tuple(map(Variant, table.variants)),
        tuple((axis, tuple(values)) for axis, values in table.axes.items()), table.seeds, figures=table.figures,
    )  # fmt: skip
    folder, told = FOLDER / "bench-grid" / table.name, [-1]

    def tell(done: int, total: int, reused: int) -> None:
        if 10 * done // total > told[0]:
            told[0] = 10 * done // total
            say(f"{table.name}: {done} of {total} plans, {reused} of them there already")

    finished = run_scenario_sweep(sweep, folder, _compute, tell, made=list(table.points()))
    write_scenario_files(finished, folder)
    return finished


def _compute(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, point in enumerate(points):
        function: Figure = resolve_name(point.measure)
        began = time.perf_counter()
        figures = dict(function(point.values, point.seed))
        wall_s = round(time.perf_counter() - began, 3)
        yield index, {
            "status": "done", "verdict": "pass", "figures": figures, "reason": "", "untimed": "", "wall_s": wall_s,
            "document": None,
        }  # fmt: skip


def generator(seed: int) -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(seed)
