"""Judges of programs that keep the contract of `switch_nodes.jobs`, whatever their protocol: every contribution once, no
slot for two jobs, nobody ahead of the results that free slots."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from testbed.checkers.blocks import block_layout, served_jobs
from testbed.checkers.context import CheckContext
from testbed.verdict import CheckResult, Verdict

__all__ = ["blocks_once", "job_credit", "memory_private"]

_SHOWN = 8


def blocks_once(context: CheckContext) -> CheckResult:
    """By what the switches tell: each block is summed once in the life of a switch, each rank is inside once, none is
    missing."""
    name, jobs = "exactly_once", served_jobs(context)
    groups = context.plan.groups
    layouts = {job: block_layout(context, job) for job in groups}
    seen: set[tuple[str, int, int]] = set()
    summed: set[tuple[int, int]] = set()
    wrong = []
    for record in context.history:
        if record["event"] == "NodeExited":
            # a switch that starts anew remembers nothing: what is sent again is summed again
            seen = {key for key in seen if key[0] != record["node"]}
        if record["event"] != "BlockSummed":
            continue
        node, job, block = record["node"], record["job"], record["block"]
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
        contributions = list(record["contributions"])
        if len(contributions) != len(members):
            wrong.append(f"{title} counts {len(contributions)} ranks, the job has {len(members)}")
        for worker, count in zip(members, contributions, strict=False):
            if count != 1:
                rank = worker.collective.rank
                wrong.append(f"{title}: the packet of rank {rank} ({worker.name}) entered its sum {count} times")
    if wrong:
        return _fail(name, wrong)
    total = sum(layout.total for layout in layouts.values())
    missing = [
        f"{layout.name(block)} of job {job}"
        for job, layout in layouts.items()
        for block in range(layout.total)
        if (job, block) not in summed
    ]
    if missing:
        detail = f"no switch told of {len(missing)} of {total} blocks; first: {missing[0]}"
        verdict = Verdict.FAIL if context.all_finished else Verdict.UNKNOWN
        return CheckResult(name, verdict, detail, tuple(missing[:_SHOWN]))
    of_jobs = f" of {len(layouts)} jobs" if len(layouts) > 1 else ""
    detail = f"{total} blocks{of_jobs}, {len(context.workers)} workers: every packet entered its sum once"
    return CheckResult(name, Verdict.PASS, detail)


def memory_private(context: CheckContext) -> CheckResult:
    """Each job keeps to its own part of the memory, and the parts do not overlap."""
    name, jobs = "slots_private", served_jobs(context)
    wrong = list(_overlaps(context))
    told: dict[tuple[str, int], str] = {}
    for record in context.events("MemoryAtEnd"):
        key = record["node"], record["job"]
        config = jobs.get(key)
        if config is None:
            wrong.append(f"{key[0]} has slots of job {key[1]}, which it does not serve")
            continue
        if (record["first_slot"], record["slots"]) != (config.first_slot, config.slots):
            wrong.append(f"job {key[1]} on {key[0]} has slots from {record['first_slot']}, {record['slots']} of them")
        if record["peak_occupied"] > record["values"]:
            wrong.append(f"job {key[1]} on {key[0]} used {record['peak_occupied']} of its {record['values']} values")
        told[key] = f"job {key[1]} on {key[0]}: {record['peak_occupied']} of {record['values']}"
    for record in context.events("BlockSummed", "BlockReplayed"):
        config = jobs.get((record["node"], record["job"]))
        if config is not None and not 0 <= record["slot"] - config.first_slot < config.slots:
            wrong.append(f"job {record['job']} on {record['node']} used slot {record['slot']}, which is not its own")
    if wrong:
        return _fail(name, wrong)
    if set(jobs) - set(told):
        missing = ", ".join(f"job {job} on {switch}" for switch, job in sorted(set(jobs) - set(told)))
        return CheckResult(name, Verdict.UNKNOWN, f"nothing is told about the slots of {missing}")
    detail = f"every job kept to its own slots; most values in use: {', '.join(told.values())}"
    return CheckResult(name, Verdict.PASS, detail)


def _overlaps(context: CheckContext) -> Iterable[str]:
    for switch in context.plan.switches:
        ordered = sorted(switch.jobs, key=lambda job: job.first_slot)
        for one, other in pairwise(ordered):
            if one.first_slot + one.slots > other.first_slot:
                yield f"jobs {one.job} and {other.job} share slots of {switch.name}"


def job_credit(context: CheckContext) -> CheckResult:
    """The switch's opinion: no packet was an `overrun`, unless it started anew without memory."""
    name, reborn = "credit_bound", set(context.restarted_switches)
    wrong = [
        f"{record['node']} got block {record['block']} of rank {record['rank']} of job {record['job']} before that worker "
        f"could know that slot {record['slot']} is free"
        for record in context.events("ContributionIgnored")
        if record["reason"] == "overrun" and record["node"] not in reborn
    ]
    if wrong:
        return _fail(name, wrong)
    summed = len(context.events("BlockSummed"))
    if not summed:
        return CheckResult(name, Verdict.UNKNOWN, "no switch told that it summed a block")
    return CheckResult(name, Verdict.PASS, f"{summed} blocks summed, no packet came before its slot was free")


def _fail(name: str, wrong: list[str]) -> CheckResult:
    detail = f"{len(wrong)} violation{'s' if len(wrong) > 1 else ''}; first: {wrong[0]}"
    return CheckResult(name, Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
