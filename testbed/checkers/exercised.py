"""A fault that never struck tested nothing."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.faults.model import Fault, Match, NodeFault, PacketFault, RateChange
from testbed.faults.strikes import strikes as count_strikes
from testbed.verdict import CheckResult, Verdict

__all__ = ["faults_exercised", "strikes"]


def strikes(context: CheckContext) -> dict[str, int]:
    """Per fault of the scenario, how often it really did something."""
    records = context.events("FaultStruck", "FaultMissed")
    return count_strikes(records, (fault.name for fault in context.plan.scenario.faults))


def faults_exercised(context: CheckContext) -> CheckResult:
    faults = context.plan.scenario.faults
    if not faults:
        return CheckResult("faults_exercised", Verdict.PASS, "the scenario asks for no fault")
    counts = strikes(context)
    end_ns = max((int(record["t"]) for record in context.history), default=0)
    idle = [f"{fault.name} never struck: {_why(context, fault, end_ns)}" for fault in faults if not counts[fault.name]]
    if idle:
        return CheckResult("faults_exercised", Verdict.UNKNOWN, "; ".join(idle), tuple(idle))
    detail = ", ".join(f"{fault.name} {counts[fault.name]}x" for fault in faults)
    return CheckResult("faults_exercised", Verdict.PASS, f"every fault struck: {detail}")


def _why(context: CheckContext, fault: Fault, end_ns: int) -> str:
    """The likeliest reason, for a person who wonders."""
    for record in context.events("FaultMissed"):
        if record["fault"] == fault.name:
            return str(record["why"])
    if isinstance(fault, PacketFault | RateChange | NodeFault) and fault.window.start_ns >= end_ns:
        return f"it starts at {fault.window.start_ns / 1e9:g} s and the run ended at {end_ns / 1e9:.3f} s"
    if isinstance(fault, PacketFault):
        if fault.rate < 1:
            return f"at a rate of {fault.rate:g} too few packets matched; run longer or raise the rate"
        if fault.match == Match():
            return "no packet crossed its links while it was active"
        return "no packet matched its conditions"
    return "the world did not carry it out"
