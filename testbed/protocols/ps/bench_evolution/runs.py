"""Cells as points of sweeps, and the figures of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from testbed.bench.swept import FOLDER, Say, keep_swept, require_sums, run_swept
from testbed.comparison.figures import Figure
from testbed.history import Record, of_kind
from testbed.history.events import ShapingMeasured
from testbed.plan import make_plan
from testbed.protocols.ps.bench_evolution.cells import COMPUTE_NS, ROWS, Cell, Scheme
from testbed.scenario import dump_scenario
from testbed.scenario.model import Scenario
from testbed.sweeps.plots.options import PlotOptions
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome, Point, ScenarioSweep, Variant, name_of
from topologies import Direction
from workloads.costs import flat_cost

__all__ = ["EvolutionFigures", "figures_of", "measure_cell", "points_of", "run_cells"]

_ALPHA_S = 5e-6
_AXES = ("model", "fabric", "server", "ranks", "skew")
_FIGURES = ("iteration_s", "busiest_gradients")
_DESCRIPTION = "Which network optimisation is best where: tb bench evolution (docs/evolution.md)"


@dataclass(frozen=True, slots=True)
class EvolutionFigures:
    """Of one run. Bytes are those of frames, divided by the bytes of one gradient in frames; they do not depend on the
    scale."""

    communication_s: float
    """time until the slowest worker has its last sum; late starts are inside"""
    busiest: float
    """on the link and direction with most of them"""
    leaving: float
    """the first rack of workers, upwards"""
    entering: float
    closed_form_s: float | None = None
    """of the communication; None: there is none"""

    @property
    def iteration_s(self) -> float:
        """Computing, and then communication: nothing overlaps."""
        return COMPUTE_NS / 1e9 + self.communication_s


def measure_cell(scenario: Scenario, history: Sequence[Record], document: Mapping[str, Any]) -> dict[str, Figure]:
    """`Point.measure`: the fields of Figures, iteration, and the closed form where there is one."""
    metrics = document["metrics"] | (document["metrics"].get("unreliable") or {})
    unit = scenario.job.size_bytes * _overhead(scenario)
    carried = {
        (record.event.link, record.event.direction): record.event.bytes / unit
        for record in of_kind(history, ShapingMeasured)
    }
    home = scenario.topology.links[0].b  # of the first host: host links come first
    uplinks = [link.name for link in scenario.topology.links if link.a == home]
    jct_s = metrics["jct_s"]
    return {
        "communication_s": jct_s,
        "iteration_s": None if jct_s is None else COMPUTE_NS / 1e9 + jct_s,
        "closed_form_s": closed_form_s(scenario),
        "busiest_gradients": max(carried.values()),
        "leaving_gradients": sum(carried[name, Direction.UP.value] for name in uplinks),
        "entering_gradients": sum(carried[name, Direction.DOWN.value] for name in uplinks),
    }


def figures_of(outcome: Outcome) -> EvolutionFigures:
    found = {name: float(value or 0) for name, value in outcome.figures.items()}
    return EvolutionFigures(
        found["communication_s"], found["busiest_gradients"], found["leaving_gradients"], found["entering_gradients"],
        outcome.figures["closed_form_s"],
    )  # fmt: skip


def _overhead(scenario: Scenario) -> float:
    """Bytes of frames for each byte of gradient."""
    framing = make_plan(scenario).workers[0].framing
    return framing.frame_bytes / framing.payload_bytes


def closed_form_s(scenario: Scenario) -> float | None:
    """With headers; None: not on a star, or with a late worker."""
    if len(scenario.topology.switches) > 1 or scenario.job.straggler is not None:
        return None
    bandwidth_bps = scenario.link.rate_bps / _overhead(scenario)
    form = flat_cost(_scheme_of(scenario).cost)
    return form.seconds(len(scenario.job.hosts), scenario.job.size_bytes, bandwidth_bps, _ALPHA_S)


def _scheme_of(scenario: Scenario) -> Scheme:
    job = scenario.job
    own = [scheme for scheme in ROWS if scheme.protocol == job.protocol]
    return next(scheme for scheme in own if len(own) == 1 or scheme.keys == job.own)


def points_of(cells: Iterable[Cell], world: str) -> list[Point]:
    """One for each run: what a cell does not care for makes no further ones."""
    measured = dict.fromkeys(cell.measured() for cell in cells)
    return [
        Point(_labels(cell, world), 1, world, dump_scenario(cell.scenario(world)), measure=name_of(measure_cell))
        for cell in measured
    ]


def _labels(cell: Cell, world: str) -> tuple[tuple[str, Any], ...]:
    fabric, server, ranks, skew, model = cell.column
    values = (model, fabric, server, ranks, skew)
    return (
        ("scenario", "evolution"),
        ("variant", cell.scheme.name),
        *zip(_AXES, values, strict=True),
        ("world", world),
    )


def run_cells(
    say: Say, name: str, cells: Iterable[Cell], processes: int, world: str
) -> tuple[Mapping[Cell, EvolutionFigures], list[FinishedScenarios]]:
    """By cell; and the sweeps, one for each model, kept in `runs/bench-evolution/NAME-MODEL`. Raises InternalError when
    a sum is wrong."""
    asked, found = list(cells), dict[tuple[tuple[str, Any], ...], EvolutionFigures]()
    by_model = groupby(asked, lambda cell: cell.model.name)
    sweeps = [_run_sweep(say, f"{name}-{model}", list(part), processes, world) for model, part in by_model]
    for finished in sweeps:
        for point, outcome in zip(finished.points, finished.outcomes, strict=True):
            found[point.labels] = figures_of(outcome)
    return {cell: found[_labels(cell.measured(), world)] for cell in asked}, sweeps


def _run_sweep(say: Say, name: str, cells: Sequence[Cell], processes: int, world: str) -> FinishedScenarios:
    points, folder = points_of(cells, world), FOLDER / "bench-evolution" / name
    variants = tuple(Variant(label) for label in dict.fromkeys(cell.scheme.name for cell in cells))
    axes = tuple((axis, tuple(dict.fromkeys(point.values[axis] for point in points))) for axis in _AXES)
    sweep = ScenarioSweep(
        name, _DESCRIPTION, ("evolution",), variants, axes, worlds=(world,), figures=_FIGURES,
        plot=PlotOptions(kind="bars"),
    )  # fmt: skip
    finished = run_swept(say, name, sweep, folder, processes, points)
    require_sums(finished)
    keep_swept(say, name, finished, folder)
    return finished
