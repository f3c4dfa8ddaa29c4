"""Nodes that stood still for so long that the machine, and not the protocol, is why senders gave up."""

from __future__ import annotations

from switch_nodes.events import PlaneStatistics
from testbed.checkers.context import CheckContext
from testbed.faults.model import Pause
from testbed.history import Record
from testbed.history.events import TimeLimitReached
from workloads.events import QpFailed, WorkerFailed

__all__ = ["machine_to_blame"]

_TIMEOUT_BASE_NS = 4_096
_GAVE_UP = "RETRY_EXC"


def machine_to_blame(context: CheckContext) -> str:
    """Why the first queue pair that gave up had to, in words: a node that no fault paused stood still while it sent
    again, so long that at most one of its attempts could be answered. Empty: nothing of the kind; the failure is what
    it looks like."""
    failed = context.events(QpFailed, WorkerFailed, TimeLimitReached)
    first = min(failed, key=lambda record: record.t, default=None)
    transport = context.plan.scenario.transport
    if (
        first is None
        or not isinstance(first.event, QpFailed)
        or first.event.status != _GAVE_UP
        or not transport.chosen_timeout_code
    ):
        return ""
    timeout_ns = _TIMEOUT_BASE_NS << transport.chosen_timeout_code
    give_up_ns = timeout_ns * (transport.retry_count + 1)
    paused = {fault.node for fault in context.plan.scenario.faults if isinstance(fault, Pause)}
    for record in context.events(PlaneStatistics):
        overlap_ns = _overlap(record, first.t - give_up_ns, first.t)
        if record.node not in paused and overlap_ns >= give_up_ns - timeout_ns:
            stood_s, until_s = record.event.stood_ns / 1e9, record.event.stood_until_ns / 1e9
            return (
                f"the machine let {record.node} stand still for {stood_s:.2f} s until {until_s:.3f} s; a sender that "
                "hears "
                f"nothing gives up after {give_up_ns / 1e9:.2f} s"
            )
    return ""


def _overlap(record: Record[PlaneStatistics], begin_ns: int, end_ns: int) -> int:
    """Of a node's longest stand-still with a time."""
    until, stood = record.event.stood_until_ns, record.event.stood_ns
    return int(min(until, end_ns) - max(until - stood, begin_ns)) if stood else 0
