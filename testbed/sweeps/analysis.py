"""What a sweep shows: which algorithm is best where, how much faster, and where parallel NetReduce meets the flat
ring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testbed.sweeps.evaluate import machines_of
from testbed.sweeps.model import PointTask
from workloads.costs.conditions import crossover_alpha_s, crossover_ratio

__all__ = ["AnalysisPoint", "Crossover", "best_counts", "by_point", "crossovers"]

Row = tuple[PointTask, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class AnalysisPoint:
    values: dict[str, int]
    seconds: dict[str, float]
    """seconds by algorithm, in the order of the sweep"""

    @property
    def best(self) -> str:
        return min(self.seconds, key=self.seconds.__getitem__)


@dataclass(frozen=True, slots=True)
class Crossover:
    """Along one parameter, all others fixed: where T_PN = T_FR."""

    along: str
    """alpha (seconds) or ratio (B_intra/B_inter)"""
    values: dict[str, int]
    """values of the others"""
    found: float | None
    """value between two points of the grid, from what the model gave there; None: no change of sign on the grid"""
    closed: float | None
    """value from the formulas; None: there is none"""
    wins: str
    """algorithm that wins at every point when nothing was found, or `both`"""


def by_point(rows: Sequence[Row]) -> list[AnalysisPoint]:
    points: dict[tuple[tuple[str, int], ...], dict[str, float]] = {}
    for task, result in rows:
        points.setdefault(task.parameters, {})[task.algorithm] = result["seconds"]
    return [AnalysisPoint(dict(parameters), seconds) for parameters, seconds in points.items()]


def best_counts(points: Sequence[AnalysisPoint]) -> Counter[str]:
    return Counter(point.best for point in points)


def crossovers(points: Sequence[AnalysisPoint]) -> list[Crossover]:
    """Along alpha and along the ratio, wherever at least two values of it were computed for FR and PN."""
    both = [point for point in points if {"FR", "PN"} <= set(point.seconds)]
    return [*_along(both, "alpha"), *_along(both, "intra_rate")]


def _along(points: Sequence[AnalysisPoint], name: str) -> list[Crossover]:
    groups: dict[tuple[tuple[str, int], ...], list[AnalysisPoint]] = {}
    for point in points:
        rest = tuple(item for item in point.values.items() if item[0] != name)
        groups.setdefault(rest, []).append(point)
    found = []
    for rest, group in groups.items():
        if len(group) > 1:
            found.append(_one(name, dict(rest), sorted(group, key=lambda point: point.values[name])))
    return found


def _one(name: str, rest: dict[str, int], group: list[AnalysisPoint]) -> Crossover:
    # T is linear in alpha and in 1/B_intra as far as the models are, so that a straight line between neighbours is
    # exact.
    inter = rest["inter_rate"]
    place = [p.values[name] / 1e9 if name == "alpha" else inter / p.values[name] for p in group]
    less = [point.seconds["PN"] - point.seconds["FR"] for point in group]
    found = None
    for index in range(len(group) - 1):
        (x0, x1), (y0, y1) = place[index : index + 2], less[index : index + 2]
        if (y0 > 0) != (y1 > 0):
            found = x0 + (x1 - x0) * y0 / (y0 - y1)
            break
    machines, size = machines_of(group[0].values), group[0].values["size"]
    if name == "alpha":
        closed = crossover_alpha_s(machines, size)
    else:
        closed = crossover_ratio(machines, size)
        found = None if found is None else 1 / found
    won = {"PN" if value < 0 else "FR" for value in less}
    wins = won.pop() if len(won) == 1 else "both"
    return Crossover("alpha" if name == "alpha" else "ratio", rest, found, closed, wins)
