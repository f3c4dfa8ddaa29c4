"""What the reference run in virtual time did over time, kept in the run directory for the page (`reference.json`)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.figures.extent import end_of_job
from testbed.figures.over_time import interval_of, over_time_of
from testbed.history import Record
from testbed.report.charts import ChartLine, lines_of, rounded, slowest_worker
from testbed.scenario.model import Scenario
from workloads.errors import ScenarioError

__all__ = ["REFERENCE", "read_reference", "reference_text"]

REFERENCE = "reference.json"
_FORM = "an object of charts, each a list of [name, role, [numbers]]"
_ROLES = "line", "median"


def reference_text(reference: Sequence[Record], own: Sequence[Record], scenario: Scenario) -> str:
    """In the intervals of the run itself. `own`: its history."""
    found = over_time_of(reference, scenario, interval_of(end_of_job(own)))
    slowest = slowest_worker(reference)
    charts = {
        series.title: [
            [line.name, line.role, rounded(line.values)] for line in lines_of(series, slowest) if line.role in _ROLES
        ]
        for series in (() if found is None else found.series)
    }
    return json.dumps(charts, separators=(",", ":")) + "\n"


def read_reference(folder: Path) -> Mapping[str, Sequence[ChartLine]]:
    """By title of a chart; empty: the run has none. Raises ScenarioError where the file is damaged."""
    path = folder / REFERENCE
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {title: [_line(*line) for line in lines] for title, lines in found.items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ScenarioError("cannot be read", file=str(path), found=str(error), allowed=_FORM) from error


def _line(name: str, role: str, values: Sequence[float]) -> ChartLine:
    numbers = [float(value) for value in values]
    if role not in _ROLES or not isinstance(name, str) or not numbers or not all(map(math.isfinite, numbers)):
        raise ValueError(f"a line {name!r} of role {role!r} with {len(numbers)} values")
    return ChartLine(name, role, numbers)
