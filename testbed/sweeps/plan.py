"""sweep.json: what a sweep consists of, so that its folder can be shown at any time, also while it runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from testbed.sweeps.scenario_model import Point, ScenarioSweep
from workloads.trusted import write_file

__all__ = ["PLAN_FILE", "write_plan"]

PLAN_FILE = "sweep.json"


def write_plan(folder: Path, sweep: ScenarioSweep, points: Sequence[Point], keys: Sequence[str], code: str) -> None:
    listed = [
        {"labels": list(map(list, point.labels)), "seed": point.seed, "world": point.world, "name": point.name,
         "problem": point.problem, "expect": point.expect, "repeat": point.repeat, "key": key}
        for point, key in zip(points, keys, strict=True)
    ]  # fmt: skip
    write_file(
        folder / PLAN_FILE, json.dumps({"schema": 1, "code": code, "sweep": asdict(sweep), "points": listed}) + "\n"
    )
