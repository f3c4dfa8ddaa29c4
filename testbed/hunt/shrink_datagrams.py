"""What is simpler than a schedule of a datagram protocol, faults left alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from switch_nodes.jobs import AggregatorKnobs
from testbed.hunt.contract import Hunted
from testbed.hunt.shrink_hosts import in_one_rack, moved_together
from testbed.hunt.shrink_jobs import with_less_to_send
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario

__all__ = ["smaller_datagrams"]

_SEEDS = (1, 2, 3)


def smaller_datagrams(scenario: Scenario, protocol: Hunted) -> Iterator[Scenario]:
    """Fewer jobs, workers, iterations and blocks; smaller windows and less memory. Each with some other seeds as well:
    faults know datagrams by their bytes, so that a smaller job meets other dice."""
    for smaller in _smaller(scenario, protocol):
        yield smaller
        yield from (replace(smaller, seed=seed) for seed in _SEEDS if seed != scenario.seed)


def _smaller(scenario: Scenario, protocol: Hunted) -> Iterator[Scenario]:
    if not scenario.jobs:
        yield _one_by_one(scenario)
        return
    yield from _fewer_workers(scenario)
    if scenario.topology.kind in ("spine_leaf", "fat_tree"):
        yield in_one_rack(scenario)
    for index, job in enumerate(scenario.jobs):
        for smaller in _smaller_job(job, scenario, protocol):
            yield _with_job(scenario, index, smaller)
    yield from _narrower(scenario)
    yield from _plainer_switch(scenario, protocol)


def _one_by_one(scenario: Scenario) -> Scenario:
    """Copies of a job, or one job alone, as several jobs that may each shrink on their own."""
    hosts = tuple(host.name for host in scenario.ranks)
    jobs = tuple(
        replace(job, name=f"job{index + 1}", number=index + 1, hosts=job.hosts or hosts, seed_offset=index)
        for index, job in enumerate(scenario.all_jobs)
    )
    return replace(scenario, job=Job(protocol=scenario.job.protocol, server=scenario.job.server), jobs=jobs)


def _with_job(scenario: Scenario, index: int, job: Job) -> Scenario:
    return replace(scenario, jobs=(*scenario.jobs[:index], job, *scenario.jobs[index + 1 :]))


def _fewer_workers(scenario: Scenario) -> Iterator[Scenario]:
    """Fewer jobs, workers, servers. Hosts that no job needs go with them."""
    jobs, custom = scenario.jobs, scenario.topology.kind not in ("rack", "spine_leaf")
    candidates: list[Scenario] = []
    if len(jobs) > 1:
        candidates += [replace(scenario, jobs=(*jobs[:index], *jobs[index + 1 :])) for index in range(len(jobs))]
        shared = {job.server for job in jobs}
        if len(shared) > 1:
            candidates.append(replace(scenario, jobs=tuple(replace(job, server=jobs[0].server) for job in jobs)))
    for index, job in enumerate(jobs):
        for rank in range(len(job.hosts)) if len(job.hosts) > 1 else ():
            left = (*job.hosts[:rank], *job.hosts[rank + 1 :])
            fewer = replace(job, hosts=left, straggler=_without_rank(job.straggler, rank))
            candidates.append(_with_job(scenario, index, fewer))
    for candidate in candidates:
        smaller = candidate if custom else moved_together(candidate)
        yield replace(smaller, jobs=tuple(replace(job, number=at) for at, job in enumerate(smaller.jobs, 1)))


def _without_rank(late: Straggler | None, gone: int) -> Straggler | None:
    """The straggler when rank `gone` is not there any more."""
    if late is None or late.rank == gone:
        return None
    return replace(late, rank=late.rank - (late.rank > gone))


def _on_time(job: Job) -> Job:
    return replace(job, straggler=None)


def _smaller_job(job: Job, scenario: Scenario, protocol: Hunted) -> Iterator[Job]:
    if job.arrival_ns:
        yield replace(job, arrival_ns=0)
    if job.straggle_rank is not None:
        yield _on_time(job)
    if job.workload != "synthetic":
        yield replace(job, workload="synthetic")
    if job.dtype != "int32" and "int32" in protocol.dtypes:
        yield replace(job, dtype="int32")
    if job.priority != "equal" and protocol.knobs:
        yield replace(job, priority="equal")
    yield from with_less_to_send(job, scenario.transport.path_mtu)


def _narrower(scenario: Scenario) -> Iterator[Scenario]:
    """Blocks of 256 bytes, as many as before."""
    room = scenario.transport.path_mtu
    if room == 256:
        return
    jobs = []
    for job in scenario.jobs:
        before = (-(-job.size_bytes // room) - 1) * room
        jobs.append(replace(job, size_bytes=before // room * 256 + min(job.size_bytes - before, 256)))
    yield replace(scenario, jobs=tuple(jobs), transport=replace(scenario.transport, path_mtu=256))


def _plainer_switch(scenario: Scenario, protocol: Hunted) -> Iterator[Scenario]:
    """Less memory, knobs as they are unless somebody turns them."""
    switch, least = scenario.switch, protocol.values_per_index * len(scenario.jobs)
    if protocol.server:
        least = 1
    for memory in sorted({least, switch.memory // 2, switch.memory - 1}):
        if least <= memory < switch.memory:
            yield replace(scenario, switch=replace(switch, memory=memory))
    if not protocol.server:
        return
    if not scenario.transport.aimd:
        yield replace(scenario, transport=replace(scenario.transport, aimd=True))
    plain: dict[str, Any] = {
        name: getattr(AggregatorKnobs(), name) for name in ("age", "ps_copy", "reclaim", "preempt")
    }
    for name, value in plain.items():
        if getattr(switch.knobs, name) != value:
            yield replace(scenario, switch=replace(switch, knobs=replace(switch.knobs, **{name: value})))
