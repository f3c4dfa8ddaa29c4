"""One point of a sweep -> what came out there. It never raises for what happens at a point: a failed one is an outcome,
too."""

from __future__ import annotations

import fcntl
import os
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from testbed.comparison.figures import flat_figures
from testbed.history import Record
from testbed.kernel.ledger import state_dir
from testbed.kernel.own_memory import peak_bytes, resident_bytes
from testbed.lab.owner import state_folder
from testbed.runs.needs import require_root
from testbed.runs.run import judge_scenario
from testbed.scenario.loader import parse_scenario
from testbed.scenario.own_program import PROGRAM_KEY, set_words
from testbed.sweeps.scenario_model import Point
from workloads.errors import HostCapabilityError, LabError, ScenarioError
from workloads.trusted import open_private

__all__ = ["compute_point", "failed", "task_of"]

_REAL = ("emulated", "lab")
"""worlds that share this machine or a lab: one run at a time"""
_LOCK = "sweep.lock"
_SHOWN_CHECKS = 3


def task_of(point: Point) -> dict[str, str]:
    """What `compute_point` is called with."""
    return {"text": point.text, "program": point.program, "measure": point.measure}


def compute_point(text: str, program: str, measure: str = "") -> dict[str, Any]:
    """`text`: a resolved scenario; `program`: a switch program of the user's own, or nothing; `measure`: as of a Point.
    Returns JSON values: `status`, `verdict`, `figures`, `reason`, `wall_s`, `rest_bytes` and `peak_bytes` of memory,
    and `document`, the result.json of the run."""
    began, history, rest_bytes = time.perf_counter(), list[Record](), resident_bytes()
    try:
        scenario = parse_scenario(text, "the point", set_words(PROGRAM_KEY, program)[1:] if program else [])
        with _alone(scenario.world):
            document = judge_scenario(scenario, "", history if measure else None)
        more = resolve_name(measure)(scenario, history, document) if measure else {}
    except ScenarioError as error:
        return failed("invalid", str(error), time.perf_counter() - began)
    except (HostCapabilityError, LabError) as error:
        return failed("failed", str(error), time.perf_counter() - began)
    except Exception as error:  # our own fault, or a user's program; the other points go on
        where = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"internal error: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return failed("failed", problem, time.perf_counter() - began)
    return {
        "status": "done",
        "verdict": document["verdict"],
        "figures": flat_figures(document) | more,
        "reason": _reason(document),
        "untimed": _untimed(document),
        "wall_s": round(time.perf_counter() - began, 3),
        "rest_bytes": rest_bytes,
        "peak_bytes": peak_bytes(),
        "document": document,
    }


def failed(status: str, reason: str, wall_s: float = 0.0) -> dict[str, Any]:
    """The outcome of a point that did not end with a verdict."""
    return {
        "status": status,
        "verdict": "",
        "figures": {},
        "reason": reason,
        "untimed": "",
        "wall_s": round(wall_s, 3),
        "document": None,
    }


def _reason(document: dict[str, Any]) -> str:
    """Why the verdict is not pass."""
    bad = [check for check in document["checks"] if check["verdict"] == document["verdict"] != "pass"]
    return "; ".join(f"{check['name']}: {check['detail']}" for check in bad[:_SHOWN_CHECKS])


def _untimed(document: dict[str, Any]) -> str:
    """Why its figures of time cannot be determined."""
    fidelity = document["fidelity"]
    return "" if fidelity["verdict"] == "pass" else str(fidelity["detail"])


@contextmanager
def _alone(world: str) -> Iterator[None]:
    """Two networks in real time on one machine would slow each other down: their runs follow one another, also those of
    other processes."""
    if world not in _REAL:
        yield
        return
    require_root("the emulated world", "with --world simulated it needs none") if world == "emulated" else None
    handle = open_private(_lock_folder() / _LOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lock_folder() -> Path:
    """One for all that may make networks here; of others, a folder of their own."""
    return state_dir() if os.geteuid() == 0 else state_folder()
