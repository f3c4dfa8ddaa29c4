"""The run itself was in order: no process died unasked, nothing was left behind."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.history.events import LeftoversFound, NodeExited, NodeStarted
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.numbers import moment

__all__ = ["no_crash", "no_leftovers"]


def no_crash(context: CheckContext) -> CheckResult:
    crashed = [record for record in context.events(NodeExited) if not record.event.expected]
    if crashed:
        evidence = []
        for record in crashed:
            status = record.event.status
            how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
            tail = record.event.output.strip().splitlines()[-6:]
            evidence.append(f"{record.node} {how} at {moment(record.t)}" + "".join(f"\n  {x}" for x in tail))
        return CheckResult("no_crash", Verdict.FAIL, evidence[0].splitlines()[0], tuple(evidence))
    started = len({record.node for record in context.events(NodeStarted)})
    if not started:
        return CheckResult("no_crash", Verdict.UNKNOWN, "the history contains no node that started")
    return CheckResult("no_crash", Verdict.PASS, f"none of {started} nodes ended unasked")


def no_leftovers(context: CheckContext) -> CheckResult:
    left = [item for record in context.events(LeftoversFound) for item in record.event.items]
    if left:
        detail = f"{len(left)} things of this run are still there after the teardown; first: {left[0]}"
        return CheckResult("no_leftovers", Verdict.FAIL, detail, tuple(left[:8]))
    if not context.history:
        return CheckResult("no_leftovers", Verdict.UNKNOWN, "the history is empty")
    return CheckResult("no_leftovers", Verdict.PASS, "nothing that the run made is left")
