"""The dilation of a run that leaves it to us: chosen for this machine, doubled when a run did not keep up,
raised until frames arrive one by one when that changed nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.checkers.twins import TOLERANCE, is_by_identity
from testbed.estimate.dilation import choose_dilation
from testbed.history.verdict import Verdict
from testbed.plan import Plan
from testbed.plan.time_need import time_need
from testbed.scenario.model import Scenario
from testbed.scenario.names import MOST_DILATION

__all__ = [
    "ATTEMPTS",
    "MOST_ATTEMPTS",
    "Say",
    "choose_for_machine",
    "exact_factor",
    "is_settled",
    "put_away",
    "twice",
    "with_dilation",
]

Say = Callable[[str], None]
MOST_ATTEMPTS = 3
"""beyond the first"""
ATTEMPTS = "attempts"
_SAME = 0.01
"""of a JCT: by so much two attempts may differ and are alike"""
_EXACT_MOST_S = 30.0
"""of real time, that a run may take longer so that its frames arrive one by one"""
_EXACT_LAST_S = 300.0
"""the same where its figures are known not to be true else"""


def with_dilation(scenario: Scenario, factor: int | None) -> Scenario:
    """None: to be chosen."""
    return replace(scenario, dilation=factor)


def choose_for_machine(plan: Plan, say: Say) -> int:
    """The factor at which this machine keeps up with a plan. Calibrates the machine where that was not done yet. Raises
    as `EmulatedWorld.run`."""
    # What follows needs Mininet; whoever lists scenarios, or runs them in another world, has none.
    from testbed.runs.calibration import calibrate, keep_calibration, kept_calibration
    from testbed.worlds.emulated.dilation import exact_dilation, most_dilation

    kept = kept_calibration()
    if kept is None:
        say("dilation auto: this machine is not calibrated yet; measuring what a packet costs it")
        kept = calibrate(lambda text: say(f"calibration: {text}"))
        path = keep_calibration(kept)
        say(f"calibration: kept as {path}")
    least, most = 1, min(MOST_DILATION, most_dilation(plan))
    if is_by_identity(plan.scenario.faults):
        # What is sent again depends on which frame was on its way: each has to arrive when it would on a wire.
        exact = exact_dilation(plan)
        if exact * time_need(plan).least_s <= _EXACT_MOST_S:
            least = exact
    factor = min(most, choose_dilation(plan, kept.calibration, len(os.sched_getaffinity(0)), least))
    say(f"dilation auto: {factor} real seconds for an emulated one")
    return factor


def twice(scenario: Scenario, document: dict[str, Any]) -> int | None:
    """The factor of the next attempt; None: this one stands."""
    held = document["fidelity"]["verdict"] == Verdict.PASS or document["verdict"] == Verdict.FAIL
    factor = 2 * (scenario.dilation or 1)
    return None if held or factor > MOST_DILATION else factor


def is_settled(document: dict[str, Any], before: dict[str, Any] | None) -> bool:
    """Whether twice the factor left the JCT where it was, as far from the twin's: then it is not for want of a faster
    machine, and no larger factor would help but one at which frames arrive one by one. `before`: the document of the
    attempt before; None: there was none."""
    now_s, before_s = _off_s(document), _off_s(before or {})
    return now_s is not None and before_s is not None and abs(now_s - before_s) <= _SAME * before_s


def exact_factor(plan: Plan, document: dict[str, Any]) -> int | None:
    """The factor from which on frames arrive one by one: below it none takes its time on a wire, and a job that waits
    for answers may be done too early. None: the attempt was there, this machine cannot keep it, or it would take too
    long."""
    from testbed.worlds.emulated.dilation import exact_dilation, most_dilation

    exact, took_s = exact_dilation(plan), document["metrics"].get("duration_s")
    within = (plan.scenario.dilation or 1) < exact <= min(MOST_DILATION, most_dilation(plan))
    return exact if within and took_s is not None and exact * took_s <= _EXACT_LAST_S else None


def _off_s(document: dict[str, Any]) -> float | None:
    """The JCT where it is too far from the twin's; None: it is not, or nobody knows."""
    twin = document.get("twin") or {}
    deviation, own_s = twin.get("deviation"), twin.get("own_jct_s")
    return None if deviation is None or own_s is None or abs(deviation) <= TOLERANCE else float(own_s)


def put_away(run_dir: Path, factor: int) -> None:
    """What an attempt left, into a folder of its own."""
    folder = run_dir / ATTEMPTS / f"dilation-{factor}"
    left = [path for path in run_dir.iterdir() if path.name != ATTEMPTS]
    folder.mkdir(parents=True)
    for path in left:
        path.rename(folder / path.name)
