"""Congestion control did its work, and kept to its rules: marks, then CNPs, then slower senders."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.checkers.context import CheckContext
from testbed.checkers.rates import marks_of
from testbed.faults.model import Duplicate, Forge
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.numbers import bits_per_second, nanoseconds
from testbed.terminal.words import violations
from workloads.config import DcqcnConfig
from workloads.connected import ConnectedConfig
from workloads.events import CnpSent, CongestionStatistics, RateChanged

__all__ = ["congestion", "skip_congestion"]

_NAME = "congestion"
_SHOWN = 8
_BILLION = 10**9


def skip_congestion(context: CheckContext) -> str | None:
    """Most runs have no congestion control, and say nothing about it."""
    return "" if context.plan.scenario.transport.congestion_control == "none" else None


def congestion(context: CheckContext) -> CheckResult:
    """Rules of DCQCN that hold whatever its parameters are. A run in which nothing was marked, or no sender was slowed
    down, says nothing about them."""
    wrong = [*_notices(context), *_rates(context)]
    marks, sent = marks_of(context), len(context.events(CnpSent))
    statistics = context.events(CongestionStatistics)
    received = sum(record.event.cnps_received for record in statistics)
    cuts = sum(record.event.cuts for record in statistics)
    if sent and not marks:
        wrong.append(f"{sent} CNPs were sent, and nothing marked a packet")
    doubled = any(isinstance(fault, Duplicate | Forge) for fault in context.plan.scenario.faults)
    if received > sent and not doubled:
        wrong.append(f"{received} CNPs were received and {sent} were sent")
    if wrong:
        detail = violations(wrong)
        return CheckResult(_NAME, Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    missing = (
        "nothing marked a packet" if not marks
        else f"{marks} packets were marked, and no CNP was sent" if not sent
        else f"{sent} CNPs were sent, and no rate was cut" if not cuts
        else ""
    )  # fmt: skip
    if missing:
        return CheckResult(_NAME, Verdict.UNKNOWN, f"congestion control was not exercised: {missing}")
    least, who = min((record.event.rate_bps, record.node) for record in context.events(RateChanged))
    detail = (
        f"{marks} packets marked, {sent} CNPs sent, {received} received, rates cut {cuts} times, down to "
        f"{bits_per_second(least)} ({who})"
    )
    return CheckResult(_NAME, Verdict.PASS, detail)


def _parameters(context: CheckContext) -> dict[tuple[str, int], DcqcnConfig]:
    """By host and queue pair, of the first life of each host."""
    return {
        (worker.name, qp.qpn): qp.dcqcn
        for worker in context.plan.workers
        if isinstance(worker, ConnectedConfig)
        for qp in worker.queue_pairs
        if qp.dcqcn is not None
    }


def _notices(context: CheckContext) -> Iterator[str]:
    """At most one CNP per interval and queue pair, by the clock of the receiver."""
    parameters, drift = _parameters(context), context.plan.scenario.clocks.drift_ppb
    last: dict[tuple[str, int], int] = {}
    for record in context.events(CnpSent):
        key = record.node, record.event.qpn
        config = parameters.get(key)
        if config is None:
            continue
        least = config.cnp_interval_ns * (_BILLION - drift) // _BILLION
        if key in last and record.t - last[key] < least:
            gap, interval = nanoseconds(record.t - last[key]), nanoseconds(config.cnp_interval_ns)
            yield f"{key[0]} sent two CNPs within {gap}, the interval is {interval}"
        last[key] = record.t


def _rates(context: CheckContext) -> Iterator[str]:
    """A rate is between the least one and that of the line, and a CNP lowers it."""
    parameters = _parameters(context)
    before = {key: config.line_rate_bps for key, config in parameters.items()}
    for record in context.events(RateChanged):
        key, rate = (record.node, record.event.qpn), record.event.rate_bps
        config = parameters.get(key)
        if config is None:
            continue
        where = f"{key[0]}: a rate of {bits_per_second(rate)} after {record.event.cause}"
        if not config.min_rate_bps <= rate <= config.line_rate_bps:
            low, high = bits_per_second(config.min_rate_bps), bits_per_second(config.line_rate_bps)
            yield f"{where} is outside {low} to {high}"
        if record.event.cause == "cnp" and rate >= before[key]:
            yield f"{where} is no lower than before"
        if not 0 <= record.event.alpha <= 1:
            yield f"{where}: alpha is {record.event.alpha:g}"
        before[key] = rate
