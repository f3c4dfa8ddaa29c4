"""Seeds are added to each point until the interval of its median is as narrow as was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from testbed.comparison.units import show_figure
from testbed.sweeps.groups import PointGroup, groups_of
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Point, ScenarioSweep
from testbed.sweeps.values import shown_value
from testbed.terminal.words import amount
from workloads.errors import ScenarioError

__all__ = ["MOST_SEEDS", "Until", "run_until", "until_lines"]

MOST_SEEDS = 30
_FIRST = 6
"""seeds of the first round: with fewer, no interval has the confidence"""
_GROWTH = 1.3

Run = Callable[[ScenarioSweep, Callable[[Point], bool]], FinishedScenarios]
"""the sweep, and which of its points are computed"""


@dataclass(frozen=True, slots=True)
class Until:
    share: float
    """half of an interval over its median, at most"""
    most_seeds: int = MOST_SEEDS


def run_until(sweep: ScenarioSweep, until: Until, run: Run) -> FinishedScenarios:
    """Each round adds seeds to the points that are not narrow enough. Which ones depends on results alone, so that a
    sweep that was stopped goes on as it would have. Raises ScenarioError for a list of seeds."""
    first = max(_FIRST, len(sweep.seeds))
    if sweep.seeds not in ((), tuple(range(1, len(sweep.seeds) + 1))):
        raise ScenarioError(
            "cannot add seeds to a list of them", file="tb sweep", key="--until", found=f"seeds {sweep.seeds}",
            allowed="--seeds N, for seeds 1 to N, which is where it begins",
        )  # fmt: skip
    if first > until.most_seeds:
        raise ScenarioError(
            "more seeds to begin with than there may be", file="tb sweep", key="--most-seeds",
            found=str(until.most_seeds), allowed=f"at least {first}",
        )  # fmt: skip
    seeds: dict[str, int] = {}
    most = first
    while True:
        finished = run(
            replace(sweep, seeds=tuple(range(1, most + 1))),
            lambda point: point.seed <= seeds.get(repr(point.labels), first),
        )
        wide = [group for group in groups_of(finished) if not _is_narrow(group, sweep.figures, until.share)]
        more = [group for group in wide if len(group.points) < until.most_seeds]
        if not more:
            return finished
        for group in more:
            count = min(until.most_seeds, math.ceil(len(group.points) * _GROWTH))
            seeds[repr(group.labels)] = count
            most = max(most, count)


def until_lines(finished: FinishedScenarios, until: Until) -> Iterator[str]:
    """What became of it, for the summary."""
    groups, figures = groups_of(finished), finished.sweep.figures
    wide = [group for group in groups if not _is_narrow(group, figures, until.share)]
    yield ""
    yield (
        f"--until {100 * until.share:.3g}%: {len(groups) - len(wide):,} of {amount(len(groups), 'point')} are narrow "
        f"enough, with at most {until.most_seeds} seeds each"
    )
    for group in wide:
        labels = ", ".join(f"{name} {shown_value(value)}" for name, value in group.labels)
        widths = ", ".join(
            f"{figure} {show_figure(figure, found.median)} +- {100 * _width(group, figure):.3g} %"
            for figure in figures
            if (found := group.summary(figure)) is not None
        )
        yield f"  wider with {amount(len(group.points), 'seed')}: {labels}: {widths}"


def _is_narrow(group: PointGroup, figures: tuple[str, ...], share: float) -> bool:
    return all(_width(group, figure) <= share for figure in figures)


def _width(group: PointGroup, figure: str) -> float:
    """Half of the interval over the median; 0 where no run has the figure, since further seeds will not have it."""
    found = group.summary(figure)
    if found is None:
        return 0.0
    if not found.has_interval:
        return math.inf
    half = (found.high - found.low) / 2
    return 0.0 if half == 0 else half / abs(found.median) if found.median else math.inf
