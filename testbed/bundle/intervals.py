"""In which interval a figure of a repeated emulated run must be. In virtual time, all figures repeat exactly."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from testbed.bundle.model import Experiment, PackedRun
from testbed.comparison.figures import flat_figures
from testbed.sweeps.statistics import summarise

__all__ = ["ALLOWANCE", "intervals"]

ALLOWANCE = 0.05
"""Share by which an emulated figure may differ more: that of the fidelity check"""


def intervals(experiment: Experiment) -> list[dict[str, Any]]:
    """One entry for each group of emulated runs that differ by their seed alone: the folders of its runs, and for each
    figure the interval of the median. That is the confidence interval, or the range of one or two runs, and the
    allowance. A figure that a run does not have has no interval."""
    groups: dict[str, list[PackedRun]] = {}
    for run in experiment.runs:
        if not run.in_virtual_time:
            groups.setdefault(json.dumps(run.labels, sort_keys=True, default=str), []).append(run)
    return [
        {
            "runs": [run.name for run in runs],
            "figures": {name: found for name in experiment.figures if (found := _interval(runs, name)) is not None},
        }
        for runs in groups.values()
    ]


def _interval(runs: Iterable[PackedRun], figure: str) -> list[float] | None:
    values = [flat_figures(run.document).get(figure) for run in runs]
    known = [value for value in values if value is not None]
    found = summarise(known)
    if found is None or len(known) < len(values):
        return None
    low, high = (found.low, found.high) if found.has_interval else (found.least, found.most)
    return [low - ALLOWANCE * abs(low), high + ALLOWANCE * abs(high)]
