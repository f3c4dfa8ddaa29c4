"""Computes what is missing of a sweep over scenarios, and keeps every outcome as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from testbed.report.document import to_json
from testbed.runs.codeversion import model_version, program_version
from testbed.sweeps.plan import write_plan
from testbed.sweeps.scenario_model import Outcome, Point, ScenarioSweep
from testbed.sweeps.scenario_points import make_points
from testbed.sweeps.store import Store
from testbed.sweeps.table import GrowingTable, row_of
from workloads.trusted import make_folder, write_file

__all__ = ["Compute", "FinishedScenarios", "SweepWatch", "run_scenario_sweep"]

_COMPUTED_BY = "testbed.sweeps.compute"
"""module that computes points, with all that it imports: a change of how results are shown makes none of them stale"""

Compute = Callable[[Sequence[Point]], Iterator[tuple[int, dict[str, Any]]]]
"""Points -> (place among them, outcome as of `compute_point`), as they are done"""
Progress = Callable[[int, int, int], None]
"""(done, all, of them reused)"""


class SweepWatch(Protocol):
    """Estimates the time that is left."""

    def start(self, points: Sequence[Point], known: Mapping[int, Outcome], compute: Compute) -> None:
        """Before anything runs. `known`: results that are there already, by place; `compute` may be used for a
        pilot."""

    def finish(self, place: int, outcome: Outcome) -> None:
        """One of the points is done."""


@dataclass(frozen=True, slots=True)
class FinishedScenarios:
    sweep: ScenarioSweep
    points: tuple[Point, ...]
    outcomes: tuple[Outcome, ...]
    """outcomes of the points, in their order"""
    names: tuple[str, ...]
    """names of the points' folders below `points/`: from their content, whatever code computed it"""
    reused: int
    """results that were there already"""
    anew: int
    """results that were there from other code only"""
    code: str
    folder: Path

    @property
    def exit_code(self) -> int:
        """0: every point ended as its scenario expects; 1: one did not, and failed; 2: otherwise, points that were not
        computed among them."""
        worst = 0
        for point, outcome in zip(self.points, self.outcomes, strict=True):
            if not outcome.is_done or outcome.verdict != point.expect:
                worst = 1 if outcome.verdict == "fail" else worst or 2
        return worst


def run_scenario_sweep(
    sweep: ScenarioSweep,
    folder: Path,
    compute: Compute,
    on_progress: Progress,
    watch: SweepWatch | None = None,
    takes: Callable[[Point], bool] = lambda point: True,
    made: Sequence[Point] | None = None,
) -> FinishedScenarios:
    """Outcomes live in `folder`: figures in `results.jsonl`, the scenario and the result of each point in
    `points/NAME/`. A sweep that was stopped goes on there. Points that are invalid, or that failed because something
    was missing, are tried again. `results.csv` grows with each run. `takes`: which points are
    computed. `made`: the points, where a program made them instead of the scenarios that the sweep names. Raises
    ScenarioError as `make_points` does, and when the folder cannot be used."""
    points = [point for point in (make_points(sweep) if made is None else made) if takes(point)]
    code = model_version(_COMPUTED_BY)
    versions = {(point.program, point.measure): _version(point) for point in points}
    keys = [point.key(versions[point.program, point.measure]) for point in points]
    store = Store(folder)
    table = GrowingTable(folder / "results.csv", list(row_of(points[0], Outcome(""), "", sweep.figures)))
    found: dict[str, dict[str, Any]] = {}
    try:
        write_plan(folder, sweep, points, keys, code)
        valid = {key: point for key, point in zip(keys, points, strict=True) if not point.problem}
        missing = [(key, point) for key, point in valid.items() if key not in store.results]
        anew = sum(point.key("") in store.points for _, point in missing)
        invalid = sum(bool(point.problem) for point in points)
        done = len(points) - len(missing)
        reused = done - invalid
        on_progress(done, len(points), reused)
        known = {
            place: Outcome("invalid", reason=point.problem) if point.problem else Outcome(**store.results[key])
            for place, (key, point) in enumerate(zip(keys, points, strict=True))
            if point.problem or key in store.results
        }
        table.add([_row(points[place], outcome) for place, outcome in known.items()])
        places: dict[str, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        if watch is not None:
            watch.start(points, known, compute)
        for index, outcome in compute([point for _, point in missing]) if missing else ():
            key, point = missing[index]
            document = outcome.pop("document", None)
            found[key] = outcome
            if document is not None:
                _keep(folder / "points" / point.name, point, document)
            store.add(key, point.key(""), outcome)
            table.add([_row(points[place], Outcome(**outcome)) for place in places[key]])
            if watch is not None:
                watch.finish(places[key][0], Outcome(**outcome))
            done += 1
            on_progress(done, len(points), reused)
        results = store.results | found
    finally:
        table.close()
        store.close()
    outcomes = [
        Outcome("invalid", reason=point.problem) if point.problem else Outcome(**results[key])
        for key, point in zip(keys, points, strict=True)
    ]
    return FinishedScenarios(
        sweep, tuple(points), tuple(outcomes), tuple(point.name for point in points), reused, anew, code, folder
    )


def _version(point: Point) -> str:
    """Of all code that computes it."""
    code = model_version(*filter(None, (_COMPUTED_BY, point.measure.partition(":")[0])))
    return code + (program_version(point.program) if point.program else "")


def _row(point: Point, outcome: Outcome) -> dict[str, Any]:
    return row_of(point, outcome, point.name, outcome.figures)


def _keep(folder: Path, point: Point, document: dict[str, Any]) -> None:
    """As a run directory without a history: `tb compare` and `tb.load` read it."""
    make_folder(folder)
    write_file(folder / "scenario.yaml", point.text)
    write_file(folder / "result.json", to_json(document))
