"""Choice of the dilation of a run with `dilation: auto`.

It is chosen for this machine and the load on it. It is doubled when the machine had not enough CPU time. When that
changed nothing, it is raised until frames arrive one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.checkers.twins import TOLERANCE, is_by_identity
from testbed.estimate.dilation import choose_dilation
from testbed.history.verdict import Verdict
from testbed.kernel.load import crowd, processors
from testbed.plan import Plan
from testbed.plan.time_need import time_need
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.names import MOST_DILATION
from testbed.terminal.shellwords import shell_words
from workloads.errors import HostCapabilityError

__all__ = [
    "ATTEMPTS",
    "LONGEST_S",
    "MOST_ATTEMPTS",
    "Say",
    "TakesTooLong",
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
_WORTH_TELLING = 0.5
"""tasks per processor"""
_SAME = 0.01
"""of a JCT: by so much two attempts may differ and are alike"""
_EXACT_MOST_S = 30.0
"""of real time, that a run may take longer so that its frames arrive one by one"""
LONGEST_S = 300.0
"""of real time, that the traffic of all attempts may take where the factor is left to us"""


class TakesTooLong(HostCapabilityError):
    """`dilation: auto` would make the run longer than LONGEST_S. `factor`: the one that the machine needs."""

    def __init__(self, factor: int, about_s: float) -> None:
        self.factor = factor
        self.problem = (
            f"the speed for dilation auto: at the factor {factor}, which it needs, the traffic takes about "
            f"{about_s / 60:,.0f} minutes, and the limit is {LONGEST_S / 60:.0f} minutes"
        )
        super().__init__(
            self.problem, f"`dilation: {factor}` goes on without a limit; `dilation: 1` judges the sums in real time"
        )

    def with_commands(self, words: Sequence[str]) -> HostCapabilityError:
        """The same for a user of the command line, who called `words`."""
        command = shell_words(words)
        return HostCapabilityError(
            self.problem,
            f"to go on: `{command} --dilation {self.factor}`; for the sums alone, in real time: `{command} "
            "--real-time`",
        )


def with_dilation(scenario: Scenario, factor: int | None) -> Scenario:
    """None: to be chosen."""
    return replace(scenario, dilation=factor)


def choose_for_machine(plan: Plan, say: Say, traffic_s: float | None = None) -> int:
    """The factor at which this machine, as busy as it is now, has enough CPU time for a plan. Calibrates the machine
    where that was not done yet.

    `traffic_s`: how long the traffic lasts in emulated time, where that is known. Raises TakesTooLong, and as
    `EmulatedWorld.run`.
    """
    if plan.scenario.nics:
        say("dilation auto: 1, since RDMA devices keep their own time")
        return 1
    # What follows needs Mininet; whoever lists scenarios, or runs them in another world, has none.
    from testbed.runs.calibration import calibrate, keep_calibration, kept_calibration
    from testbed.worlds.emulated.dilation import exact_dilation, lossless_dilation, most_dilation

    kept = kept_calibration()
    if kept is None:
        say("dilation auto: this machine is not calibrated yet; measuring what a packet costs it")
        kept = calibrate(lambda text: say(f"calibration: {text}"))
        path = keep_calibration(kept)
        say(f"calibration: kept as {path}")
    least, most = 1, min(MOST_DILATION, most_dilation(plan))
    need = time_need(plan)
    if is_by_identity(plan.scenario.faults):
        # What is sent again depends on which frame was on its way: each has to arrive when it would on a wire.
        exact = exact_dilation(plan)
        if exact * need.least_s <= _EXACT_MOST_S:
            least = exact
    if plan.scenario.pfc is not None:
        least = max(least, lossless_dilation(plan))
    others = crowd()
    wanted = choose_dilation(plan, kept.calibration, processors(), least, crowd=others, traffic_s=traffic_s)
    factor = min(most, wanted)
    lasts_s = factor * (traffic_s or need.about_s)
    if lasts_s > LONGEST_S:
        raise TakesTooLong(factor, lasts_s)
    busy = f", {others:.1f} tasks of other processes for each processor" if others >= _WORTH_TELLING else ""
    say(f"dilation auto: {factor} real seconds for an emulated one{busy}")
    return factor


def twice(scenario: Scenario, document: dict[str, Any], spent_s: float = 0.0) -> int | None:
    """The factor of the next attempt; None: this one stands, or the next would exceed LONGEST_S. `spent_s`: real
    seconds of traffic of all attempts so far."""
    held = document["fidelity"]["verdict"] == Verdict.PASS or document["verdict"] == Verdict.FAIL
    factor = 2 * (scenario.dilation or 1)
    lasts_s = factor * (document["metrics"].get("duration_s") or 0.0)
    return None if held or factor > MOST_DILATION or spent_s + lasts_s > LONGEST_S else factor


def is_settled(document: dict[str, Any], before: dict[str, Any] | None) -> bool:
    """Whether the JCT did not change at twice the factor, and is still too far from that of the reference run.

    Then CPU time is not the cause, and no larger factor would help but one at which frames arrive one by one. `before`:
    the document of the attempt before; None: there was none.
    """
    now_s, before_s = _off_s(document), _off_s(before or {})
    return now_s is not None and before_s is not None and abs(now_s - before_s) <= _SAME * before_s


def exact_factor(plan: Plan, document: dict[str, Any], spent_s: float = 0.0) -> int | None:
    """The factor from which on frames arrive one by one. Below it a frame that finds an idle link arrives without its
    serialisation delay, and a job that waits for answers may be done too early. None: the attempt was there, this
    machine cannot keep it, or it would exceed LONGEST_S. `spent_s`: as of `twice`."""
    from testbed.worlds.emulated.dilation import exact_dilation, most_dilation

    exact, took_s = exact_dilation(plan), document["metrics"].get("duration_s")
    within = (plan.scenario.dilation or 1) < exact <= min(MOST_DILATION, most_dilation(plan))
    return exact if within and took_s is not None and spent_s + exact * took_s <= LONGEST_S else None


def _off_s(document: dict[str, Any]) -> float | None:
    """The JCT where it is too far from that of the reference run. None: it is not, or there is no comparison."""
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
