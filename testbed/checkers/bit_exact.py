"""Every worker holds, bit for bit, what the independent reference says, after every iteration."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from testbed.checkers.context import CheckContext, is_training
from testbed.checkers.delivered import DeliveredResults, delivered_results
from testbed.checkers.messages import message_layout
from testbed.checkers.reference import Array, SourceFactory, expected_results, workers_in
from testbed.checkers.training import training_bit_exact
from testbed.history.events import NodeExited
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan, with_workers
from workloads.collectives.kinds import ring_kind
from workloads.collectives.operations import ALL_REDUCE, BARRIER
from workloads.events import CollectiveCompleted, CollectiveStarted, MessageReceived, WorkerFellBack

__all__ = ["bit_exact"]

_SHOWN = 8


def bit_exact(context: CheckContext, create: SourceFactory | None = None) -> CheckResult:
    """Compare each result with the reference. `create` makes the gradients; None: `workloads.gradients.create_source`.

    Results from before a fall-back are compared with the reference of the first protocol, and need not be complete.
    Results from after it are compared with that of the other protocol.
    """
    if is_training(context):
        return training_bit_exact(context)
    lives = _digests(context)
    if not any(lives):
        return CheckResult(
            "bit_exact", Verdict.UNKNOWN, "no worker completed an iteration: there is nothing to compare"
        )
    findings = _Findings(delivered=delivered_results(context))
    before, after = lives
    if context.fell_back:
        if before:
            _compare(context, context.plan, before, findings, create)
        early, findings.missing = findings.compared, []
        _compare(context, _fallen_back(context.plan), after, findings, create)
    else:
        early = 0
        _compare(context, context.plan, before, findings, create)
    if context.plan.scenario.job.operation == BARRIER:
        findings.wrong += _left_early(context)
    return _verdict(context, findings, early)


Digests: TypeAlias = dict[tuple[int, str], set[str]]
"""by iteration and worker: digests of its result"""


@dataclass(slots=True)
class _Findings:
    delivered: DeliveredResults | None
    """what left for the workers, where captures tell"""
    wrong: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    compared: int = 0
    iterations: int = 0


def _digests(context: CheckContext) -> tuple[Digests, Digests]:
    """Digests before and after the workers fell back. A process that restarts is in its first life again."""
    lives: tuple[Digests, Digests] = ({}, {})
    later: set[str] = set()
    for record in context.events(CollectiveCompleted) if not context.fell_back else context.history:
        if isinstance(record.event, WorkerFellBack):
            later.add(record.node)
        elif isinstance(record.event, NodeExited):
            later.discard(record.node)
        elif isinstance(record.event, CollectiveCompleted):
            all_digests = lives[record.node in later]
            all_digests.setdefault((record.event.iteration, record.node), set()).add(record.event.sha256)
    return lives


def _compare(
    context: CheckContext, plan: Plan, all_digests: Digests, findings: _Findings, create: SourceFactory | None
) -> None:
    """All results of one life of the job."""
    findings.iterations = 0
    for iteration, results in enumerate(expected_results(plan, create)):
        findings.iterations += 1
        workers = workers_in(plan, iteration)
        if not any((iteration, worker) in all_digests for worker in workers):
            findings.missing += [f"{worker} reported no result of iteration {iteration}" for worker in workers]
            continue
        data, right = b"", ""
        for worker, expected in zip(workers, results, strict=True):
            digests = all_digests.get((iteration, worker))
            if digests is None:
                findings.missing.append(f"{worker} reported no result of iteration {iteration}")
                continue
            findings.compared += 1
            own = _little_endian(expected)
            if not right or own != data:  # workers share a result
                data, right = own, hashlib.sha256(own).hexdigest()
            if digests != {right}:
                other = sorted(digests - {right})[0]
                kind = plan.workers[0].collective.kind
                where = _first_difference(context, iteration, worker, data, kind)
                findings.wrong.append(
                    f"{worker}, iteration {iteration}: sha256 {other[:16]}... instead of {right[:16]}...; {where}"
                )
            elif findings.delivered is not None and (unseen := findings.delivered.problem(worker, iteration, data)):
                findings.wrong.append(unseen)


def _left_early(context: CheckContext) -> list[str]:
    """A barrier moves nothing that could be compared: no rank may leave it before all of its job have come. A process
    that was restarted comes again, which does not count."""
    group_of = {worker.name: group for group, workers in context.plan.groups.items() for worker in workers}
    first: dict[tuple[int, str], int] = {}
    for record in context.events(CollectiveStarted):
        first.setdefault((record.event.iteration, record.node), record.t)
    last: dict[tuple[int, int], tuple[int, str]] = {}
    for (iteration, node), t in first.items():
        meeting = group_of[node], iteration
        last[meeting] = max(last.get(meeting, (0, "")), (t, node))
    found = []
    for done in context.events(CollectiveCompleted):
        iteration, left = done.event.iteration, done.event.completed_ns
        came, who = last[group_of[done.node], iteration]
        if left < came:
            found.append(f"{done.node} left the barrier of iteration {iteration} {came - left} ns before {who} came")
    return found


def _verdict(context: CheckContext, findings: _Findings, early: int) -> CheckResult:
    """`early`: how many of the results that were compared come from before a fallback."""
    wrong, missing, compared, iterations = findings.wrong, findings.missing, findings.compared, findings.iterations
    if wrong:
        detail = f"{len(wrong)} of {compared} results differ from the reference; first: {wrong[0]}"
        return CheckResult("bit_exact", Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    if missing:
        detail = f"the {compared} reported results are right, {len(missing)} are missing; first: {missing[0]}"
        return CheckResult("bit_exact", Verdict.UNKNOWN, detail, tuple(missing[:_SHOWN]))
    alike = len({worker.workload.iterations for worker in context.plan.workers}) == 1
    each = f"each of {iterations} iterations" if alike else f"each iteration of their jobs (up to {iterations})"
    detail = f"all {len(context.workers)} workers hold the reference's bits after " + (
        each if iterations > 1 else "the iteration"
    )
    if context.fell_back:
        detail += (
            f", as {context.events(WorkerFellBack)[0].event.protocol}; {early} results reported before that are right"
        )
    return CheckResult("bit_exact", Verdict.PASS, detail)


def _fallen_back(plan: Plan) -> Plan:
    """The plan after all workers have started their job again."""
    job = replace(plan.scenario.job, protocol=plan.scenario.job.fallback)
    later = with_workers(plan, [worker.fallback or worker for worker in plan.ring_workers])
    return replace(later, scenario=replace(plan.scenario, job=job))


def _little_endian(values: Array) -> bytes:
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def _first_difference(context: CheckContext, iteration: int, worker: str, expected: bytes, kind: str) -> str:
    """Which message brought the first wrong element."""
    if not context.plan.ring_workers:
        return "workers tell no digests of single blocks, so no block can be named"
    if context.plan.scenario.job.operation != ALL_REDUCE:
        return "ranks hold parts of what their messages carry, so no message can be named"
    if not ring_kind(kind).in_messages:
        return "its messages carry partial sums, so no message can be named"
    layout = message_layout(context)
    checksums = {
        record.event.message: record.event.crc32 for record in context.events(MessageReceived) if record.node == worker
    }
    first = layout.hello + iteration * layout.per_iteration
    for index in range(layout.per_iteration):
        start, stop = layout.span(index)
        crc32 = checksums.get(first + index)
        if crc32 is None:
            return f"{layout.name(first + index)} was not reported"
        if crc32 != zlib.crc32(expected[start:stop]):
            return (
                f"the first message that differs is {layout.name(first + index)}, elements "
                f"{start // 4}..{stop // 4 - 1}"
            )
    return "every message arrived right, so the worker put them together wrongly"
