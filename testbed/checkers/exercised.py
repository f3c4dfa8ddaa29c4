"""A fault that never struck tested nothing; one whose rate is 0 is expected not to."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.faults.model import Fault, Match, NodeFault, PacketFault, RateChange, is_silent
from testbed.verdict import CheckResult, Verdict
from testbed.words import times

__all__ = ["faults_exercised", "strikes"]


def strikes(context: CheckContext) -> dict[str, int]:
    """Per fault of the scenario, how often it really did something."""
    counts = {fault.name: 0 for fault in context.plan.scenario.faults}
    for record in context.events("FaultStruck"):
        counts[record["fault"]] = counts.get(record["fault"], 0) + 1
    return counts


def faults_exercised(context: CheckContext) -> CheckResult:
    faults = context.plan.scenario.faults
    if not faults:
        return CheckResult("faults_exercised", Verdict.PASS, "the scenario asks for no fault")
    counts = strikes(context)
    end_ns = max((int(record["t"]) for record in context.history), default=0)
    wrong = [
        f"{f.name} has a rate of 0 and struck {times(counts[f.name])}"
        for f in faults
        if is_silent(f) and counts[f.name]
    ]
    if wrong:
        return CheckResult("faults_exercised", Verdict.FAIL, "; ".join(wrong), tuple(wrong))
    silent = [f"{fault.name}: a rate of 0, expected not to strike" for fault in faults if is_silent(fault)]
    faults = tuple(fault for fault in faults if not is_silent(fault))
    idle = [f"{fault.name} never struck: {_why(fault, end_ns)}" for fault in faults if not counts[fault.name]]
    if idle:
        return CheckResult("faults_exercised", Verdict.UNKNOWN, "; ".join(idle), tuple(idle))
    struck = ", ".join(f"{fault.name} {times(counts[fault.name])}" for fault in faults)
    told = ([f"every fault struck: {struck}"] if faults else []) + silent
    return CheckResult("faults_exercised", Verdict.PASS, "; ".join(told))


def _why(fault: Fault, end_ns: int) -> str:
    """The likeliest reason, for a person who wonders."""
    if isinstance(fault, PacketFault | RateChange | NodeFault) and fault.window.start_ns >= end_ns:
        return f"it starts at {fault.window.start_ns / 1e9:g} s and the run ended at {end_ns / 1e9:.3f} s"
    if isinstance(fault, PacketFault):
        if fault.rate < 1:
            return f"at a rate of {fault.rate:g} too few packets matched; run longer or raise the rate"
        if fault.match == Match():
            return "no packet crossed its links while it was active"
        return "no packet matched its conditions"
    return "the world did not carry it out"
