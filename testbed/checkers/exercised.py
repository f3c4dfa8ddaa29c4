"""Each fault must hit something: a fault that never did tested nothing. A fault whose rate is 0 is expected to hit
nothing."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.faults.events import FaultMissed, FaultStruck
from testbed.faults.model import Fault, Match, NodeFault, PacketFault, RateChange, is_silent
from testbed.history import Record
from testbed.history.events import FaultByChance, KernelFaultsUnseen
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.numbers import moment
from testbed.terminal.words import times

__all__ = ["faults_exercised", "strikes"]


def strikes(context: CheckContext) -> dict[str, int]:
    """Per fault of the scenario, how often it really did something."""
    counts = dict.fromkeys((fault.name for fault in context.plan.scenario.faults), 0)
    for record in context.events(FaultStruck):
        counts[record.event.fault] = counts.get(record.event.fault, 0) + 1
    for missed in context.events(FaultMissed):
        counts[missed.event.fault] -= missed.event.strikes
    return counts


def faults_exercised(context: CheckContext) -> CheckResult:
    faults = context.plan.scenario.faults
    if not faults:
        return CheckResult("faults_exercised", Verdict.PASS, "the scenario asks for no fault")
    counts = strikes(context)
    end_ns = max((record.t for record in context.history), default=0)
    wrong = [
        f"{fault.name} has a rate of 0 and hit {times(counts[fault.name])}"
        for fault in faults
        if is_silent(fault) and counts[fault.name]
    ]
    if wrong:
        return CheckResult("faults_exercised", Verdict.FAIL, "; ".join(wrong), tuple(wrong))
    silent = [f"{fault.name}: a rate of 0, expected not to hit" for fault in faults if is_silent(fault)]
    faults = tuple(fault for fault in faults if not is_silent(fault))
    by_chance = {record.event.fault for record in context.events(FaultByChance)}
    doubts = [
        f"{fault.name}: netem applies it by its own random choices and reports no hits"
        if fault.name in by_chance
        else f"{fault.name} never hit: {_why(context, fault, end_ns)}"
        for fault in faults
        if not counts[fault.name]
    ]
    doubts += [_unseen(record) for record in context.events(KernelFaultsUnseen)]
    if doubts:
        return CheckResult("faults_exercised", Verdict.UNKNOWN, "; ".join(doubts), tuple(doubts))
    struck = ", ".join(f"{fault.name} {times(counts[fault.name])}" for fault in faults)
    details = ([f"every fault hit: {struck}"] if faults else []) + silent
    return CheckResult("faults_exercised", Verdict.PASS, "; ".join(details))


def _unseen(record: Record[KernelFaultsUnseen]) -> str:
    parts = (
        (
            record.event.uncounted,
            "frames passed without a decision, since the eBPF program's table of identities was full",
        ),
        (record.event.undescribed, "hits are not recorded one by one, since the eBPF program's log was full"),
    )
    return f"{record.event.link} {record.event.direction}: " + "; ".join(
        f"{number:,} {text}" for number, text in parts if number
    )


def _why(context: CheckContext, fault: Fault, end_ns: int) -> str:
    """The likeliest reason, for a person who wonders."""
    for record in context.events(FaultMissed):
        if record.event.fault == fault.name:
            return record.event.why
    if isinstance(fault, PacketFault | RateChange | NodeFault) and fault.window.start_ns >= end_ns:
        return f"it starts at {moment(fault.window.start_ns)} and the run ended at {moment(end_ns)}"
    if isinstance(fault, PacketFault):
        if fault.rate < 1:
            return f"at a rate of {fault.rate:g} too few packets matched; run longer or raise the rate"
        if fault.match == Match():
            return "no packet crossed its links while it was active"
        return "no packet matched its conditions"
    return "the world did not carry it out"
