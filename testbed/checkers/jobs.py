"""Judges of programs and parameter servers that keep the contract of `switch_nodes.jobs`, whatever their protocol.

Every contribution counts once, no slot serves two jobs, and no worker sends before the results that free its slots.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from testbed.checkers.blocks import block_layout, part_of, served_jobs, summing_nodes
from testbed.checkers.context import CheckContext
from testbed.history import of_kinds
from testbed.history.events import NodeExited
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import violations
from workloads.datagrams.blocks import (
    BlockReplayed,
    BlockSummed,
    Collided,
    ContributionIgnored,
    MemoryAtEnd,
    PartialSent,
    SlotMixed,
)

__all__ = ["blocks_once", "job_credit", "memory_private"]

_SHOWN = 8


def blocks_once(context: CheckContext) -> CheckResult:
    """Each block is summed once in the life of a node, each rank is inside once, none is missing. What leaves a switch
    on its way to a server holds each rank of its bitmap once, and no other. The evidence is what switches and servers
    report."""
    name, jobs = "exactly_once", summing_nodes(context)
    groups = context.plan.groups
    layouts = {job: block_layout(context, job) for job in groups}
    parts = {job: [part_of(context, worker).contributes for worker in members] for job, members in groups.items()}
    seen: set[tuple[str, int, int]] = set()
    summed: set[tuple[int, int]] = set()
    wrong = []
    for record in of_kinds(context.history, NodeExited, BlockSummed):
        if isinstance(record.event, NodeExited):
            # a switch that starts anew remembers nothing: what is sent again is summed again
            seen = {key for key in seen if key[0] != record.node}
        if not isinstance(record.event, BlockSummed):
            continue
        node, job, block = record.node, record.event.job, record.event.block
        if (node, job) not in jobs or job not in layouts:
            wrong.append(f"block {block} of job {job} was summed by {node}, which does not serve that job")
            continue
        layout, members = layouts[job], groups[job]
        title = f"{layout.name(block)} of job {job}"
        summed.add((job, block))
        if (node, job, block) in seen:
            wrong.append(f"{title} was summed twice")
        seen.add((node, job, block))
        if block >= layout.total:
            wrong.append(f"{title} was summed, the job has only {layout.total}")
        contributions = list(record.event.contributions)
        if len(contributions) != len(members):
            wrong.append(f"{title} counts {len(contributions)} ranks, the job has {len(members)}")
        due = layout.counts(block, parts[job])
        for place, (worker, count) in enumerate(zip(members, contributions, strict=False)):
            if count > 1 if due is None else count != due[place]:
                rank = worker.collective.rank
                wrong.append(f"{title}: the packet of rank {rank} ({worker.name}) entered its sum {count} times")
    wrong += list(_miscounted(context))
    if wrong:
        return _fail(name, wrong)
    total = sum(1 for layout in layouts.values() for _ in layout.awaited) or len(summed)
    missing = [
        f"{layout.name(block)} of job {job}"
        for job, layout in layouts.items()
        for block in layout.awaited
        if (job, block) not in summed
    ]
    if missing:
        detail = f"no switch reported {len(missing)} of {total} blocks; first: {missing[0]}"
        verdict = Verdict.FAIL if context.all_finished else Verdict.UNKNOWN
        return CheckResult(name, verdict, detail, tuple(missing[:_SHOWN]))
    of_jobs = f" of {len(layouts)} jobs" if len(layouts) > 1 else ""
    detail = f"{total} blocks{of_jobs}, {len(context.workers)} workers: every packet entered its sum once"
    return CheckResult(name, Verdict.PASS, detail)


def _miscounted(context: CheckContext) -> Iterable[str]:
    """Sums on their way to a server that are not what their bitmap says."""
    for record in context.events(PartialSent):
        counts, bitmap = list(record.event.contributions), record.event.bitmap
        if counts != [bitmap >> rank & 1 for rank in range(len(counts))]:
            yield (
                f"{record.node} sent a sum of block {record.event.block} of job {record.event.job} "
                f"({record.event.reason}) whose "
                f"bitmap is {bitmap:#x}, and in which the ranks are {counts} times"
            )


def memory_private(context: CheckContext) -> CheckResult:
    """Each job keeps to its own part of the memory, and the parts do not overlap. Where a server takes what finds no
    slot, all slots are everybody's: then a slot serves one block at a time, by what was added to it."""
    name, jobs = "slots_private", served_jobs(context)
    wrong = list(_overlaps(context))
    peaks: dict[tuple[str, int], str] = {}
    for record in context.events(MemoryAtEnd):
        key = record.node, record.event.job
        config = jobs.get(key)
        if config is None:
            wrong.append(f"{key[0]} has slots of job {key[1]}, which it does not serve")
            continue
        if (record.event.first_slot, record.event.slots) != (config.first_slot, config.slots):
            wrong.append(
                f"job {key[1]} on {key[0]} has slots from {record.event.first_slot}, {record.event.slots} of them"
            )
        if record.event.peak_occupied > record.event.values:
            wrong.append(
                f"job {key[1]} on {key[0]} used {record.event.peak_occupied} of its {record.event.values} values"
            )
        peaks[key] = f"job {key[1]} on {key[0]}: {record.event.peak_occupied} of {record.event.values}"
    for mixed in context.events(SlotMixed):
        into = mixed.event
        wrong.append(
            f"slot {into.slot} of {mixed.node} has block {into.owner_block} of job {into.owner_job}, and got "
            f"block {into.block} of job {into.job} from rank {into.rank}"
        )
    for used in context.events(BlockSummed, BlockReplayed):
        block = used.event
        config = jobs.get((used.node, block.job))
        if config is not None and not 0 <= block.slot - config.first_slot < config.slots:
            wrong.append(f"job {block.job} on {used.node} used slot {block.slot}, which is not its own")
    if wrong:
        return _fail(name, wrong)
    if set(jobs) - set(peaks):
        missing = ", ".join(f"job {job} on {switch}" for switch, job in sorted(set(jobs) - set(peaks)))
        return CheckResult(name, Verdict.UNKNOWN, f"the slots of {missing} are not reported")
    if not peaks:
        return CheckResult(name, Verdict.PASS, "no switch has slots: everything is summed at parameter servers")
    most = ", ".join(peaks.values())
    detail = f"every job kept to its own slots; most values in use: {most}"
    if context.plan.servers:
        met = len(context.events(Collided))
        evicted = sum(record.event.reason == "evicted" for record in context.events(PartialSent))
        detail = (
            f"all slots are everybody's, one block in each: {met} collisions, {evicted} evictions; most values in use: "
            f"{most}"
        )
    return CheckResult(name, Verdict.PASS, detail)


def _overlaps(context: CheckContext) -> Iterable[str]:
    for switch in context.plan.switches:
        ordered = sorted((job for job in switch.jobs if job.server is None), key=lambda job: job.first_slot)
        for one, other in pairwise(ordered):
            if one.first_slot + one.slots > other.first_slot:
                yield f"jobs {one.job} and {other.job} share slots of {switch.name}"


def job_credit(context: CheckContext) -> CheckResult:
    """The opinion of switches and servers: no packet was an `overrun`, unless they restarted without memory."""
    name, reborn = "credit_bound", {*context.restarted_switches, *context.restarted_servers}
    wrong = [
        f"{record.node} got block {record.event.block} of rank {record.event.rank} of job {record.event.job} before "
        "that worker "
        f"could know that slot {record.event.slot} is free"
        for record in context.events(ContributionIgnored)
        if record.event.reason == "overrun" and record.node not in reborn
    ]
    if wrong:
        return _fail(name, wrong)
    summed = len(context.events(BlockSummed))
    if not summed:
        return CheckResult(name, Verdict.UNKNOWN, "no node reported that a block was summed")
    return CheckResult(name, Verdict.PASS, f"{summed} blocks summed, no packet came before its slot was free")


def _fail(name: str, wrong: list[str]) -> CheckResult:
    detail = violations(wrong)
    return CheckResult(name, Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
