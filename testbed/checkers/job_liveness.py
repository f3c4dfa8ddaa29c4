"""Liveness of jobs that a switch aggregates by itself: who waited for which block, and who owed it."""

from __future__ import annotations

from collections import Counter

from testbed.checkers.blocks import block_layout, served_jobs
from testbed.checkers.context import CheckContext
from testbed.checkers.contract import judged_protocol
from testbed.checkers.liveness import failures
from testbed.checkers.refused import RefusedResults, refused_results, refused_text
from testbed.history.events import TrafficStarted
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import amount
from workloads.datagrams.blocks import BlockSummed, MemoryAtEnd, ServerStatistics
from workloads.events import CollectiveStarted, DatagramResent, WorkerFailed, WorkerFinished

__all__ = ["job_liveness"]


def job_liveness(context: CheckContext) -> CheckResult:
    """Every worker finished, and no slot holds a contribution without a sum."""
    name = "liveness"
    if not context.events(TrafficStarted, CollectiveStarted, WorkerFinished, WorkerFailed):
        return CheckResult(name, Verdict.UNKNOWN, "the history contains no traffic")
    stalled = [worker for worker in context.workers if worker not in context.finished]
    if stalled:
        refused = refused_results(context)
        found, stories = failures(context), [_story(context, worker, refused) for worker in stalled]
        why = [text for text in (refused_text(refused), (found or stories)[0]) if text]
        detail = f"{len(stalled)} of {amount(len(context.workers), 'worker')} did not finish; {'; '.join(why)}"
        return CheckResult(name, Verdict.FAIL, detail, (*found, *stories))
    memories = context.events(MemoryAtEnd)
    left = [
        f"{record.node}, job {record.event.job}: {record.event.open} slots" for record in memories if record.event.open
    ]
    left += _open_at_servers(context)
    if left:
        detail = f"every worker finished, but contributions without a sum are left: {'; '.join(left)}"
        verdict = Verdict.UNKNOWN if context.restarted_switches or context.restarted_servers else Verdict.FAIL
        return CheckResult(name, verdict, detail, tuple(left))
    if {(record.node, record.event.job) for record in memories} < set(served_jobs(context)):
        detail = "every worker finished, but a switch did not tell what is left in its slots"
        return CheckResult(name, Verdict.UNKNOWN, detail)
    return CheckResult(name, Verdict.PASS, f"all {len(context.workers)} workers finished; no slot holds a leftover")


def _open_at_servers(context: CheckContext) -> list[str]:
    """Open blocks of each server, where a server completes every block. With ESA a switch does, and what comes late may
    wait at the server for a copy that no worker needs."""
    if not judged_protocol(context.plan.scenario.job.protocol).server_completes():
        return []
    return [
        f"{record.node}, job {record.event.job}: {record.event.open} blocks"
        for record in context.events(ServerStatistics)
        if record.event.open
    ]


def _story(context: CheckContext, worker: str, refused: dict[str, RefusedResults]) -> str:
    """The block that a stalled worker asked for most often, and whether it was ever summed."""
    resent = [record for record in context.events(DatagramResent) if record.node == worker]
    if not resent:
        return f"{worker} waited, and sent nothing again"
    (job, block), times = Counter((record.event.job, record.event.block) for record in resent).most_common(1)[0]
    summed = any((record.event.job, record.event.block) == (job, block) for record in context.events(BlockSummed))
    layout = block_layout(context, job)
    who = "a switch or the server" if context.plan.servers else "the switch"
    came = "the result did not arrive"
    if worker in refused:
        came = f"{worker} refused {amount(refused[worker]['count'], 'result')}"
    what = f"{who} had summed it, {came}" if summed else f"{who} never summed it"
    return f"{worker} sent {layout.name(block)} {amount(times + 1, 'time')}: {what}"
