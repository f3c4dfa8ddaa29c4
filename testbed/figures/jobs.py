"""Figures of the jobs of a run whose switches serve jobs: when each was done, and what the memory of the switches was
used for.

Definitions (docs/jobs.md). JCT: from a job's arrival until its slowest worker holds the last result. Busy: occupied
values, summed over time, over all values of all switches and the time until the last job was done. Useful: the same,
but of each value only the time from the first to the last contribution to a sum that the switch completed. Fairness:
Jain's index over the goodputs of the jobs. A figure that no node reported is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from testbed.checkers.blocks import block_layout
from testbed.checkers.context import CheckContext
from testbed.checkers.parts import parts_of
from testbed.figures.percentiles import nearest_rank
from testbed.figures.samples import samples_of, samples_per_second
from testbed.history import Record
from testbed.history.events import TrafficStarted
from testbed.scenario.keys.job import Job
from workloads.config import HostConfig, WorkerConfig
from workloads.datagrams.blocks import BlockSummed, Collided, MemoryAtEnd, PartialSent, ServerStatistics
from workloads.events import CollectiveCompleted, DatagramResent, RcStatistics

__all__ = ["JOB_PERFORMANCE", "jain_index", "job_metrics", "without_performance"]

JOB_PERFORMANCE = ("average_jct_s", "p95_jct_s", "makespan_s", "fairness", "busy", "useful")
"""figures that mean nothing when the machine had too little CPU time; of each job those of `_PERFORMANCE`"""
_OfJob = TypeVar("_OfJob", Collided, DatagramResent, PartialSent, ServerStatistics)
_PERFORMANCE = ("jct_s", "iterations_s", "goodput_bps", "samples_per_second", "busy", "useful")


def job_metrics(context: CheckContext) -> dict[str, Any] | None:
    """The `jobs` of the metrics; None where no switch serves jobs and there is one protocol."""
    serving = [switch for switch in context.plan.switches if switch.jobs]
    if not serving and not context.plan.beside:
        return None
    memory = sum(switch.memory for switch in serving)
    parts = parts_of(context)
    started = [record.t for record in context.events(TrafficStarted)]
    start_ns = started[0] if started else 0
    ends = {
        (name, group): _ends(part, workers)
        for name, part in parts.items()
        for group, workers in part.plan.groups.items()
    }
    last = [times[-1] for times in ends.values()]
    makespan_ns = None if None in last else max(time for time in last if time is not None) - start_ns
    capacity = memory * makespan_ns if makespan_ns else None
    each = [
        {**head, **_job(part, job, group, workers, ends[name, group], start_ns, capacity)}
        for name, part in parts.items()
        for head, job, (group, workers) in zip(
            _heads(part, name if context.plan.beside else ""),
            part.plan.scenario.all_jobs,
            part.plan.groups.items(),
            strict=True,
        )
    ]
    served = each[: len(context.plan.parts[0].groups)]
    jcts = [job["jct_s"] for job in each]
    done = None not in jcts
    return {
        "average_jct_s": sum(jcts) / len(jcts) if done else None,
        "p95_jct_s": nearest_rank(sorted(jcts), 95) if done else None,
        "makespan_s": None if makespan_ns is None else makespan_ns / 1e9,
        "fairness": jain_index([job["goodput_bps"] for job in each]),
        "memory_values": memory,
        "busy": _sum(job["busy"] for job in served),
        "useful": _sum(job["useful"] for job in served),
        "each": each,
    }


def jain_index(shares: Sequence[float | None]) -> float | None:
    """Jain's fairness index (Jain, Chiu, Hawe: DEC-TR-301, 1984): 1 where all n have the same, 1/n where one has all.
    None: there are not two, or one is not known."""
    known = [share for share in shares if share is not None]
    if len(known) < 2 or len(known) < len(shares) or not any(known):
        return None
    return sum(known) ** 2 / (len(known) * sum(share * share for share in known))


def _heads(context: CheckContext, protocol: str) -> Iterable[dict[str, Any]]:
    """Of the jobs of one protocol, in the order of its groups. `protocol`: where it is not the only one."""
    jobs = context.plan.scenario.all_jobs
    for place, (job, group) in enumerate(zip(jobs, context.plan.groups, strict=True), 1):
        name = job.name or protocol or f"job{place}"
        # The groups of connections of all protocols have numbers of their own; jobs count on.
        number = group if not protocol or job.number is None else job.number
        yield {"job": number, "name": name, **({"protocol": job.protocol} if protocol else {})}


def without_performance(jobs: dict[str, Any]) -> dict[str, Any]:
    """The same, without the figures that are worthless when the machine had too little CPU time."""
    each = [{**job, **dict.fromkeys(_PERFORMANCE)} for job in jobs["each"]]
    return {**jobs, **dict.fromkeys(JOB_PERFORMANCE), "each": each}


def _job(
    context: CheckContext,
    job: Job,
    group: int,
    workers: Sequence[HostConfig],
    ends: Sequence[int | None],
    start_ns: int,
    capacity: int | None,
) -> dict[str, Any]:
    workload = workers[0].workload
    arrival_ns = start_ns + workload.arrival_ns
    jct_s = None if ends[-1] is None else (ends[-1] - arrival_ns) / 1e9
    size_bytes = 4 * workload.elements
    restarted = {switch.name for switch in context.plan.switches if switch.jobs} & set(context.restarted_switches)
    memories = [record for record in context.events(MemoryAtEnd) if record.event.job == group and not restarted]
    partial = Counter(record.event.reason for record in _of(context, group, PartialSent))
    servers = _of(context, group, ServerStatistics)
    collisions = _of(context, group, Collided)
    serverless = not servers
    forgot = serverless or any(record.node in context.restarted_servers for record in servers)
    return {
        "workers": len(workers),
        "arrival_s": workload.arrival_ns / 1e9,
        "jct_s": jct_s,
        "iterations_s": _differences([arrival_ns, *ends]),
        "goodput_bps": 8 * size_bytes * workload.iterations / jct_s if jct_s else None,
        "samples_per_second": samples_per_second([samples_of(job, len(workers))], jct_s),
        "gradient_bytes": size_bytes,
        "resends": _resends(context, group, workers),
        "collisions": None if serverless else len(collisions),
        "evictions": None if serverless else partial["evicted"],
        "reminders": None if forgot else sum(record.event.reminders for record in servers),
        "server_bytes": None if forgot else sum(record.event.bytes_in for record in servers),
        "switch_completed": None if ends[-1] is None else _completed_share(context, group),
        "busy": _share((record.event.busy_ns for record in memories), capacity),
        "useful": _share((_known(record.event.useful_ns) for record in memories), capacity),
    }


def _resends(context: CheckContext, group: int, workers: Sequence[HostConfig]) -> int:
    connected = {worker.name for worker in workers if isinstance(worker, WorkerConfig)}
    over_connections = sum(
        record.event.packets_retransmitted for record in context.events(RcStatistics) if record.node in connected
    )
    return over_connections + len(_of(context, group, DatagramResent))


def _of(context: CheckContext, group: int, kind: type[_OfJob]) -> list[Record[_OfJob]]:
    return [record for record in context.events(kind) if record.event.job == group]


def _ends(context: CheckContext, workers: Sequence[HostConfig]) -> list[int | None]:
    """Of each iteration of a job, when its slowest worker held the result."""
    names = {worker.name for worker in workers}
    found: dict[int, dict[str, int]] = {}
    for record in context.events(CollectiveCompleted):
        if record.node in names:
            found.setdefault(record.event.iteration, {})[record.node] = record.event.completed_ns
    iterations = range(workers[0].workload.iterations)
    return [max(found[k].values()) if len(found.get(k, ())) == len(names) else None for k in iterations]


def _differences(times: Sequence[int | None]) -> list[float | None]:
    return [None if start is None or end is None else (end - start) / 1e9 for start, end in pairwise(times)]


def _completed_share(context: CheckContext, group: int) -> float | None:
    """The share of the job's blocks with all contributions in one switch; None where no blocks are known or there are
    none, or no switch serves the job."""
    if not any(job.job == group for switch in context.plan.switches for job in switch.jobs):
        return None
    switches = {switch.name for switch in context.plan.switches}
    whole: set[int] = set()
    for record in context.events(BlockSummed, PartialSent):
        if record.event.job == group and record.node in switches and all(record.event.contributions):
            whole.add(record.event.block)
    try:
        total = block_layout(context, group).total
    except ValueError:  # blocks of a protocol of somebody's own
        return None
    return len(whole) / total if total else None


def _share(parts: Iterable[int | None], capacity: int | None) -> float | None:
    found = list(parts)
    if not found or capacity is None or None in found:
        return None
    return sum(part for part in found if part is not None) / capacity


def _known(time_ns: int) -> int | None:
    """-1: not reported."""
    return None if time_ns < 0 else time_ns


def _sum(parts: Iterable[float | None]) -> float | None:
    found = list(parts)
    return None if None in found else sum(part for part in found if part is not None)
