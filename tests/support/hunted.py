"""Hunts for planted bugs that begin with the schedule that failed the last time.

A schedule depends on the seed and its number alone. If one fails, the hunt fails, there or at an earlier schedule.
`tests/data/found.json` has the number of one that failed. If that schedule passes now, the whole hunt runs, and a
warning names the new number. `TB_KEEP_FOUND=1` in the environment writes it to the file (without `-n`).
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

from testbed.hunt.coverage import Coverage
from testbed.hunt.judge import Machines, judge_schedule
from testbed.hunt.runner import Found, Prey, run_hunt
from testbed.hunt.state import ChunkStore

__all__ = ["found_bug", "passes_where_bugs_fail"]

_FILE = Path(__file__).resolve().parents[1] / "data" / "found.json"


def _known() -> dict[str, int]:
    found: dict[str, int] = json.loads(_FILE.read_text())
    return found


def _which(prey: Prey) -> str:
    return " ".join(filter(None, (str(prey.seed), prey.kind, prey.recovery)))


def passes_where_bugs_fail(prey: Prey) -> int:
    """How many schedules, of those that find bugs, pass without one. Raises AssertionError for one that fails."""
    numbers = {number for key, number in _known().items() if key.startswith(f"{_which(prey)} ")}
    for number in numbers:
        failure, _ = judge_schedule(prey.schedule(number))
        assert failure is None, (number, failure)
    return len(numbers)


def found_bug(name: str, prey: Prey, machines: Machines) -> Found:
    """As `run_hunt`, without the coverage of the schedules that passed."""
    known, key = _known(), f"{_which(prey)} {name}"
    number = known.get(key, prey.schedules)
    if number < prey.schedules:
        failure, _ = judge_schedule(prey.schedule(number), machines)
        if failure is not None:
            return Found(Coverage(), number, failure)
    found = run_hunt(prey, 1, ChunkStore(), machines=machines)
    if found.number is not None and os.environ.get("TB_KEEP_FOUND"):
        _FILE.write_text(json.dumps({**known, key: found.number}, indent=1, sort_keys=True) + "\n")
    elif found.number is not None:
        warnings.warn(f"{_FILE.name}: {key!r} is found at {found.number}; write it with TB_KEEP_FOUND=1", stacklevel=2)
    return found
