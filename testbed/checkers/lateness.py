"""Nodes that stood still: how long they may before a sender times out, and whether the machine, and not the protocol,
is why senders gave up."""

from __future__ import annotations

from switch_nodes.events import PlaneStatistics
from testbed.checkers.context import CheckContext
from testbed.faults.model import Pause
from testbed.history import Record
from testbed.history.events import TimeLimitReached
from testbed.plan import Plan
from testbed.terminal.numbers import moment, nanoseconds
from workloads.events import QpFailed, WorkerFailed
from workloads.rc.recovery import rto_ns

__all__ = ["LAG_SAMPLES", "latest_ns", "machine_to_blame", "shortest_timer_ns", "stood_between"]

LAG_SAMPLES = 20
"""deadlines below which a percentile would be one accident"""
_TIMEOUT_BASE_NS = 4_096
_GAVE_UP = "RETRY_EXC"


def machine_to_blame(context: CheckContext) -> str:
    """Why the first queue pair that gave up had to, in words. A node that no fault paused stood still while it sent
    again, so long that at most one of its attempts could be answered. Or a node sent something later than the sender
    waits for an answer. Empty: nothing of the kind; the failure is what it looks like."""
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
        overlap_ns = stood_between(record, first.t - give_up_ns, first.t)
        if record.node not in paused and overlap_ns >= give_up_ns - timeout_ns:
            stood, until = nanoseconds(record.event.stood_ns), moment(record.event.stood_until_ns)
            return (
                f"the machine let {record.node} stand still for {stood} until {until}; a sender that hears "
                f"nothing gives up after {nanoseconds(give_up_ns)}"
            )
        late_ns = record.event.lag_p99_ns if record.event.deadlines >= LAG_SAMPLES else 0
        if record.node not in paused and late_ns >= timeout_ns:
            return (
                f"the machine let {record.node} do what was due {nanoseconds(late_ns)} late (99th percentile); a "
                f"sender waits {nanoseconds(timeout_ns)} for an answer"
            )
    return ""


def latest_ns(context: CheckContext, *nodes: str) -> int:
    """How late the machine let the latest of these nodes do something, at most. 0 in virtual time. Nodes that a fault
    pauses do not count."""
    paused = {fault.node for fault in context.plan.scenario.faults if isinstance(fault, Pause)}
    planes = [record.event for record in context.events(PlaneStatistics) if record.node in {*nodes} - paused]
    return max((max(plane.lag_max_ns, plane.stood_ns) for plane in planes), default=0)


def shortest_timer_ns(plan: Plan) -> int | None:
    """After how long without an answer the first sender of a plan sends again. None: none does."""
    found = [getattr(worker, "rto_ns", 0) for worker in plan.workers]
    for pair in {pair for worker in plan.ring_workers for pair in worker.queue_pairs}:
        found.append(rto_ns(pair.timeout_code) or 0)
        found.append(pair.irn.rto_low_ns if pair.speaks_irn else 0)
    return min(filter(None, found), default=None)


def stood_between(record: Record[PlaneStatistics], begin_ns: int, end_ns: int) -> int:
    """The longest part of one of a node's stand-stills that was in that time; not above 0: none was."""
    stands = record.event.stands or ((record.event.stood_ns, record.event.stood_until_ns),)
    return max(int(min(until, end_ns) - max(until - stood, begin_ns)) for stood, until in stands)
