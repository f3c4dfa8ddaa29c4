"""Made-up runs of a small grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from testbed.protocols.esa.bench_ina.analysis import MemoryCell
from testbed.protocols.esa.bench_ina.cases import MEMORY_KEY, InaCase
from testbed.protocols.esa.bench_ina.runs import InaFigures
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome, Point

__all__ = ["cell", "finished", "grid", "made_up", "outcome", "run"]

_COUNTS = {"collisions": 0, "evictions": 0, "resends": 0, "server_bytes": 0}


def run(jct_s: float, **figures: float) -> InaFigures:
    values = {"busy": 0.5, "useful": 0.25, **_COUNTS} | figures
    return InaFigures(jct_s, jct_s * 1.5, **values)  # type: ignore[arg-type]


def outcome(jct_s: float, untimed: str = "", **figures: float) -> Outcome:
    """As a sweep keeps it: one job did all that is counted."""
    values = {"average_jct_s": jct_s, "p95_jct_s": jct_s * 1.5, "busy": 0.5, "useful": 0.25, **_COUNTS} | figures
    jobs = {f"jobs.{name}": value for name, value in values.items() if name not in _COUNTS}
    if untimed:
        jobs = dict.fromkeys(jobs) | {f"unreliable.{name}": value for name, value in jobs.items()}
    each = {f"jobs.each.vgg16-1.{name}": values[name] for name in _COUNTS}
    more = {name: values[name] for name in ("dilation", "twin.deviation") if name in values}
    return Outcome("done", "unknown" if untimed else "pass", {**jobs, **each, **more}, untimed=untimed)


def cell(subject: str, memory: int, *jcts: float) -> MemoryCell:
    return MemoryCell(memory, subject, tuple(map(run, jcts)))


def grid(jcts: Mapping[str, Sequence[float]], sizes: Sequence[int]) -> dict[tuple[int, str], MemoryCell]:
    """Of each subject the average JCT at each size, one seed."""
    return {
        (memory, subject): cell(subject, memory, values[index])
        for subject, values in jcts.items()
        for index, memory in enumerate(sizes)
    }


def finished(
    case: InaCase, found: Callable[[str, int, Point], Outcome], points: Sequence[Point] = ()
) -> FinishedScenarios:
    """`found`: (subject, memory, point) -> its outcome."""
    kept = tuple(points or case.points)
    outcomes = tuple(found(str(point.values["variant"]), point.values[MEMORY_KEY], point) for point in kept)
    names = tuple(point.name for point in kept)
    return FinishedScenarios(case.sweep, kept, outcomes, names, 0, 0, "code", None)  # type: ignore[arg-type]


def made_up(jct_s: Callable[[Point], float], asked: list[Point], last: int | None = None, **figures: float) -> Any:
    """In place of `testbed.sweeps.where.computing`: no run is made. `last`: the one that is interrupted."""

    def compute(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, point in enumerate(points):
            asked.append(point)
            if len(asked) == last:
                raise KeyboardInterrupt
            found = outcome(jct_s(point), resends=3, **figures)
            kept = {"status": found.status, "verdict": found.verdict, "figures": dict(found.figures)}
            yield index, kept | {"reason": "", "untimed": "", "wall_s": 0.1, "document": {}}

    return lambda processes, scheduler: compute
