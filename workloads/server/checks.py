"""What a configuration of a parameter server must keep."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.datagrams.problems import (
    MAX_INDICES,
    MAX_WORKERS,
    MAX_WORKERS_IN_RACKS,
    ConfigProblem,
    problems_in_arithmetic,
    problems_in_packets,
    problems_in_racks,
    problems_in_timeout,
)
from workloads.server.config import JobOfServer, ServerConfig
from workloads.server.kinds import DTYPES, served_kinds
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["problems_in_server"]

_MOST_WINDOWS = 64
"""most windows of results, which use memory"""


def problems_in_server(config: ServerConfig) -> Iterator[ConfigProblem]:
    ids = [job.job for job in config.jobs]
    for index, job in enumerate(config.jobs):
        place = f"jobs[{index}]"
        if job.job in ids[:index]:
            yield ConfigProblem(f"{place}.job", str(job.job), "an id of its own")
        yield from (problem.within(place) for problem in _problems_in_job(job))


def _problems_in_job(job: JobOfServer) -> Iterator[ConfigProblem]:
    if job.kind not in served_kinds():
        yield ConfigProblem("kind", job.kind, ", ".join(served_kinds()))
    names_racks = job.kind in served_kinds() and served_kinds()[job.kind].names_racks
    most_workers = MAX_WORKERS_IN_RACKS if names_racks else MAX_WORKERS
    if not 1 <= len(job.members) <= most_workers:
        yield ConfigProblem("members", str(len(job.members)), f"1 .. {most_workers} workers, what bitmaps can name")
    elif len(job.members) > MAX_WORKERS:
        for problem in problems_in_racks(job.racks, len(job.members)):
            yield ConfigProblem("racks", f"{len(job.racks)} racks", problem)
    ranks = [member.rank for member in job.members]
    if ranks != list(range(len(ranks))):
        yield ConfigProblem("members", str(ranks), f"in rank order, 0 .. {len(ranks) - 1}")
    if not 1 <= job.job < 1 << 16:
        yield ConfigProblem("job", str(job.job), "1 .. 65535")
    addresses = [member.ip for member in job.members]
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            yield ConfigProblem(f"members[{index}].ip", ".".join(map(str, address)), "an address of its own")
    yield from problems_in_arithmetic(job.arithmetic, DTYPES)
    most = served_kinds()[job.kind].most_elements if job.kind in served_kinds() else MAX_ELEMENTS
    yield from problems_in_packets(job.elements, job.window, most)
    yield from problems_in_timeout(job.rto_ns)
    if not 2 <= job.cached_windows <= _MOST_WINDOWS:
        yield ConfigProblem("cached_windows", str(job.cached_windows), f"2 .. {_MOST_WINDOWS}")
    if not 1 <= job.memory <= MAX_INDICES:
        yield ConfigProblem("memory", str(job.memory), f"1 .. {MAX_INDICES} aggregators")
