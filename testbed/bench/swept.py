"""Benches run their points as sweeps: each is kept when it is done, and `tb sweep --show` shows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.sweeps.compute import compute_point, task_of
from testbed.sweeps.forecast import Forecast
from testbed.sweeps.plots.write import write_plots
from testbed.sweeps.scenario_engine import FinishedScenarios, run_scenario_sweep
from testbed.sweeps.scenario_model import Point, ScenarioSweep
from testbed.sweeps.scenario_report import scenario_rows, write_scenario_files
from testbed.sweeps.table import csv_text
from testbed.sweeps.values import shown_value
from testbed.sweeps.where import computing
from workloads.errors import InternalError
from workloads.trusted import write_named

__all__ = ["FOLDER", "Say", "keep_swept", "require_sums", "run_swept", "write_runs"]

FOLDER = Path("runs")
_LEAST_BETWEEN_S = 5.0
"""seconds between two lines of progress"""

Say = Callable[[str], None]


def run_swept(
    say: Say, title: str, sweep: ScenarioSweep, folder: Path, processes: int, made: Sequence[Point] | None = None
) -> FinishedScenarios:
    """`folder`: goes on there after an interruption. `processes`; 0: in this one. `made`: the points, where the bench
    made them. Raises as `run_scenario_sweep`."""
    forecast = Forecast(processes, say, time.monotonic)
    compute = computing(processes, None) if processes else _compute_here
    return run_scenario_sweep(sweep, folder, compute, _teller(say, title, forecast), forecast, made=made)


def _compute_here(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, point in enumerate(points):
        yield index, compute_point(**task_of(point))


def _teller(say: Say, title: str, forecast: Forecast) -> Callable[[int, int, int], None]:
    last = [-_LEAST_BETWEEN_S]

    def tell(done: int, total: int, reused: int) -> None:
        now = time.monotonic()
        if now - last[0] >= _LEAST_BETWEEN_S or done == total:
            last[0] = now
            there = f", {reused} of them there already" if reused else ""
            left = "" if forecast.left_s is None else f", about {forecast.left_s:.0f} s to go"
            say(f"{title}: {done} of {total} runs{there}{left}")

    return tell


def keep_swept(say: Say, title: str, finished: FinishedScenarios, folder: Path, *, draws: bool = True) -> None:
    """Tables, and plots where they show something (`draws`)."""
    written = [*write_scenario_files(finished, folder), *(write_plots(finished, folder) if draws else ())]
    say(f"{title}: {', '.join(str(path) for path in written if path.suffix in ('.csv', '.svg'))}")


def write_runs(path: Path | None, sweeps: Iterable[tuple[Mapping[str, Any], FinishedScenarios]]) -> None:
    """All runs as one file; with each sweep, what is the same in all of its rows. None: no file is asked for."""
    if path is not None:
        rows = ({**fixed, **row} for fixed, finished in sweeps for row in scenario_rows(finished))
        write_named(path, csv_text(rows), key="--csv")


def require_sums(finished: FinishedScenarios, allowed: Callable[[Point], bool] = lambda point: False) -> None:
    """Raises InternalError for a run that could not be made, and when a sum is wrong: a fast wrong answer is no
    measurement. `allowed`: points whose sums may be wrong."""
    for point, outcome in zip(finished.points, finished.outcomes, strict=True):
        if not outcome.is_done or (outcome.verdict == "fail" and not allowed(point)):
            labels = ", ".join(shown_value(value) for _, value in point.labels)
            raise InternalError(f"{finished.sweep.name}: {labels}, seed {point.seed}: {outcome.reason}")
