"""What a configuration of a parameter server must keep."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.atp.checks import DTYPES
from workloads.atp.config import KINDS
from workloads.datagrams.mistakes import (
    MAX_INDICES,
    MAX_WORKERS,
    Mistake,
    mistakes_in_arithmetic,
    mistakes_in_packets,
    mistakes_in_timeout,
)
from workloads.server.config import ServedJob, ServerConfig
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["mistakes_in_server"]

_MOST_WINDOWS = 64
"""of results, which are memory"""


def mistakes_in_server(config: ServerConfig) -> Iterator[Mistake]:
    ids = [job.job for job in config.jobs]
    for index, job in enumerate(config.jobs):
        place = f"jobs[{index}]"
        if job.job in ids[:index]:
            yield Mistake(f"{place}.job", str(job.job), "an id of its own")
        yield from (mistake.within(place) for mistake in _mistakes_in_job(job))


def _mistakes_in_job(job: ServedJob) -> Iterator[Mistake]:
    if job.kind not in KINDS:
        yield Mistake("kind", job.kind, ", ".join(KINDS))
    if not 1 <= len(job.members) <= MAX_WORKERS:
        yield Mistake("members", str(len(job.members)), f"1 .. {MAX_WORKERS} workers, the width of the bitmap")
    ranks = [member.rank for member in job.members]
    if ranks != list(range(len(ranks))):
        yield Mistake("members", str(ranks), f"in rank order, 0 .. {len(ranks) - 1}")
    if not 1 <= job.job < 1 << 16:
        yield Mistake("job", str(job.job), "1 .. 65535")
    addresses = [member.ip for member in job.members]
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            yield Mistake(f"members[{index}].ip", ".".join(map(str, address)), "an address of its own")
    yield from mistakes_in_arithmetic(job.arithmetic, DTYPES)
    most = KINDS[job.kind].most_elements if job.kind in KINDS else MAX_ELEMENTS
    yield from mistakes_in_packets(job.elements, job.window, most)
    yield from mistakes_in_timeout(job.rto_ns)
    if not 2 <= job.cached_windows <= _MOST_WINDOWS:
        yield Mistake("cached_windows", str(job.cached_windows), f"2 .. {_MOST_WINDOWS}")
    if not 1 <= job.memory <= MAX_INDICES:
        yield Mistake("memory", str(job.memory), f"1 .. {MAX_INDICES} aggregators")
