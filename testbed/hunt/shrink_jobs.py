"""Smaller jobs over datagrams: what a job of any of these protocols may lose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from testbed.scenario.model import Job

__all__ = ["with_less_to_send"]


def with_less_to_send(job: Job, room: int) -> Iterator[Job]:
    """Fewer iterations, fewer blocks of `room` bytes, a shorter last block, a smaller window: one of these at a
    time."""
    for iterations in sorted({1, job.iterations - 1}):
        if 1 <= iterations < job.iterations:
            yield replace(job, iterations=iterations)
    blocks = -(-job.size_bytes // room)
    last = job.size_bytes - (blocks - 1) * room
    for fewer in sorted({1, blocks // 2, blocks - 1}):
        if 1 <= fewer < blocks:
            yield replace(job, size_bytes=(fewer - 1) * room + last)
    if last > 4:
        yield replace(job, size_bytes=(blocks - 1) * room + 4)
    for window in sorted({1, job.window_packets // 2, job.window_packets - 1}):
        if 1 <= window < job.window_packets:
            yield replace(job, window_packets=window)
