"""A job of real packets that did not end on a machine that was too slow for it."""

from __future__ import annotations

from dataclasses import replace

from testbed.checkers.twins import Twin
from testbed.history.verdict import CheckResult, Verdict

__all__ = ["excused"]


def excused(results: tuple[CheckResult, ...], fidelity: CheckResult, twin: Twin | None) -> tuple[CheckResult, ...]:
    """`liveness` depends on time: on a slow machine, timers expire and queue pairs give up although the protocol is
    right. Its FAIL becomes UNKNOWN if `fidelity` does not hold and the same plan ended in virtual time, or was still
    running there when the time was over. It stays if the plan does not end in virtual time either, and where virtual
    time cannot run the plan."""
    if fidelity.verdict is Verdict.PASS or twin is None or not _may_end(twin):
        return results
    return tuple(
        replace(result, verdict=Verdict.UNKNOWN, detail=f"{fidelity.detail}; {result.detail}")
        if result.name == "liveness" and result.verdict is Verdict.FAIL
        else result
        for result in results
    )


def _may_end(twin: Twin) -> bool:
    return any("JCT" in run.seconds for run in twin.runs) if twin.runs else twin.fails
