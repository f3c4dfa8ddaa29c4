"""Everything completes, and nothing is left in a slot. A failure says who waited for what, and who owed it."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.events import MessageAggregated, SlotsAtEnd
from switch_nodes.kinds import sums
from testbed.checkers.card import counted_left
from testbed.checkers.context import CheckContext
from testbed.checkers.ended_early import ended_early
from testbed.checkers.lateness import machine_to_blame
from testbed.checkers.messages import MessageLayout, message_layout
from testbed.faults.events import FaultStruck
from testbed.faults.healing import is_active
from testbed.faults.model import Kill, LinkDown, Pause
from testbed.history import Record
from testbed.history.events import CardCounted, TimeLimitReached, TrafficStarted
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.numbers import moment
from workloads.collectives.kinds import ring_kind
from workloads.events import (
    CollectiveStarted,
    MessagePosted,
    MessageReceived,
    PhaseStarted,
    QpFailed,
    WorkerFailed,
    WorkerFellBack,
    WorkerFinished,
)

__all__ = ["failures", "liveness"]

_EXPLAINED = {
    "RETRY_EXC": "it sent the same packets until its retries were used up, and no answer came",
    "RNR_RETRY_EXC": "its peer never had a receive buffer ready",
    "REM_INV_REQ": "its peer refused a request as invalid",
    "REM_ACCESS": "its peer refused access to memory",
    "REM_OP": "its peer could not carry out a request",
    "LOC_LEN": "a message was longer than the buffer posted for it",
    "bad_result": "a result carried the wrong INA header",
}


def liveness(context: CheckContext) -> CheckResult:
    if not context.events(TrafficStarted, CollectiveStarted, WorkerFinished, WorkerFailed):
        return CheckResult("liveness", Verdict.UNKNOWN, "the history contains no traffic")
    stalled = [worker for worker in context.workers if worker not in context.finished]
    if (early := ended_early(context)) and not context.events(QpFailed, WorkerFailed):
        return CheckResult("liveness", Verdict.UNKNOWN, early)
    if stalled:
        stories = _stories(context, stalled)
        why = _cause(context)
        if blamed := machine_to_blame(context):
            detail = f"{len(stalled)} of {len(context.workers)} workers did not finish, and {blamed}; {why}"
            return CheckResult("liveness", Verdict.UNKNOWN, detail, (blamed, *failures(context), *stories))
        detail = f"{len(stalled)} of {len(context.workers)} workers did not finish; {why or stories[0]}"
        return CheckResult("liveness", Verdict.FAIL, detail, (*failures(context), *stories))
    if context.fell_back:
        first = context.events(WorkerFellBack)[0]
        detail = (
            f"all {len(context.workers)} workers finished, as {first.event.protocol}: at {moment(first.t)} "
            f"{first.node} was the first to start the job again ({first.event.reason})"
        )
        return CheckResult("liveness", Verdict.PASS, detail)
    if context.events(CardCounted):
        return counted_left(context)
    slots = context.events(SlotsAtEnd)
    left = [
        f"{record.node}, ring {record.event.ring_id}: {record.event.open} slots"
        for record in slots
        if record.event.open
    ]
    if left:
        detail = f"every worker finished, but contributions without a sum are left: {'; '.join(left)}"
        if restarted := context.restarted_switches:
            detail += f" ({', '.join(restarted)} restarted: it may have summed them before that)"
        return CheckResult("liveness", Verdict.UNKNOWN if restarted else Verdict.FAIL, detail, tuple(left))
    rings = sum(len(switch.rings) for switch in context.plan.switches if sums(switch.program))
    if len({(record.node, record.event.ring_id) for record in slots}) < rings:
        detail = "every worker finished, but a switch did not tell what is left in its slots"
        return CheckResult("liveness", Verdict.UNKNOWN, detail)
    rest = "; no slot holds a leftover" if rings else ""
    return CheckResult("liveness", Verdict.PASS, f"all {len(context.workers)} workers finished{rest}")


def _cause(context: CheckContext) -> str:
    """The first failure in time: the others follow from it."""
    found = failures(context)
    return found[0] if found else ""


def failures(context: CheckContext) -> list[str]:
    """What went wrong, each once, in the order of time. The first one is why the others did. A worker that gives up
    because its queue pair failed adds nothing to the report of the queue pair."""
    gave_up, ended = context.events(QpFailed, WorkerFailed), context.events(TimeLimitReached)
    failed = {(record.node, record.event.status) for record in context.events(QpFailed)}
    records = [
        record
        for record in (*gave_up, *ended)
        if not isinstance(record.event, WorkerFailed) or (record.node, record.event.reason) not in failed
    ]
    return [_failure(record, context) for record in sorted(records, key=lambda record: record.t)]


def _out_of_order(context: CheckContext, at_ns: int) -> str:
    """Links and nodes that a fault had out of order then."""
    struck = {record.event.fault for record in context.events(FaultStruck)}
    causes = []
    for fault in context.plan.scenario.faults:
        if fault.name not in struck or not isinstance(fault, LinkDown | Kill | Pause) or not is_active(fault, at_ns):
            continue
        since = f"since {moment(fault.window.start_ns)}"
        if isinstance(fault, LinkDown):
            causes.append(f"with the link{'' if len(fault.links) == 1 else 's'} {', '.join(fault.links)} down {since}")
        else:
            causes.append(f"with {fault.node} {'dead' if isinstance(fault, Kill) else 'standing still'} {since}")
    return f", {' and '.join(causes)}," if causes else ""


def _failure(record: Record[QpFailed | WorkerFailed | TimeLimitReached], context: CheckContext) -> str:
    at = f"at {moment(record.t)}" + _out_of_order(context, record.t)
    if isinstance(record.event, TimeLimitReached):
        names = ", ".join(record.event.unfinished)
        limit = f"the time limit of {moment(record.event.limit_ns)}"
        if record.t < record.event.limit_ns:  # virtual time need not be waited out
            return f"{limit} was reached, and nothing more happened after {moment(record.t)}; unfinished: {names}"
        return f"{at} {limit} was reached, unfinished: {names}"
    if isinstance(record.event, QpFailed):
        explained = _EXPLAINED.get(record.event.status, "")
        peer = _peer(context, record.node, record.event.qpn)
        text = f"{at} the queue pair {record.event.qpn:#x} of {record.node}{peer} failed with {record.event.status}"
        return text + (f" ({explained})" if explained else "") + f" at PSN {record.event.psn}: {record.event.detail}"
    return f"{at} {record.node} gave up with {record.event.reason}: {record.event.detail}"


def _peer(context: CheckContext, node: str, qpn: int) -> str:
    for ring in context.rings:
        within = f" in phase {ring.phase}" if ring.phase else ""
        for rank, member in enumerate(ring.members):
            if member.name == node and member.to_successor.qpn == qpn:
                return f" towards {ring.names[(rank + 1) % len(ring.names)]}{within}"
            if member.name == node and member.from_predecessor.qpn == qpn:
                return f" from {ring.names[rank - 1]}{within}"
    return ""


def _stories(context: CheckContext, stalled: Sequence[str]) -> list[str]:
    if not context.plan.ring_workers:
        return [f"{worker} did not finish" for worker in stalled]
    layout = message_layout(context)
    return [_story(context, layout, worker) for worker in stalled]


def _story(context: CheckContext, layout: MessageLayout, worker: str) -> str:
    """Which message a stalled worker waited for, and why it did not come."""
    received = [r.event.message for r in context.events(MessageReceived) if r.node == worker]
    begun = [r for r in context.events(PhaseStarted) if r.node == worker]
    if begun:
        phase = begun[-1].event.phase
        count = sum(r.node == worker and r.event.phase == phase for r in context.events(MessageReceived))
        return (
            f"{worker} was in phase {phase} of iteration {begun[-1].event.iteration}, with {count} messages received "
            "in it"
        )
    carries = ring_kind(context.plan.workers[0].collective.kind)
    if not carries.in_messages:
        return f"{worker} had received {len(received)} messages"
    waited = max(received, default=-1) + 1
    if waited >= layout.total:
        return f"{worker} had received everything, but waited for the acknowledgement of its own messages"
    posted: dict[str, int] = {}
    for record in context.events(MessagePosted):
        posted[record.node] = max(record.event.message, posted.get(record.node, -1))
    absent = [name for name in context.workers if posted.get(name, -1) < waited]
    text = f"{worker} waited for the result of {layout.name(waited)}"
    if not carries.is_summed:
        predecessor = context.workers[context.workers.index(worker) - 1]
        return text + (f", which {predecessor} had not sent" if predecessor in absent else f", sent by {predecessor}")
    if absent:
        return text + f", which {', '.join(absent)} had not sent yet"
    if any(record.event.message == waited for record in context.events(MessageAggregated)):
        return text + ": every worker had sent it and the switch had summed it, the result did not arrive whole"
    return text + ": every worker had posted it, the switch did not get all packets of it"
