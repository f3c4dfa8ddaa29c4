"""The jobs of a schedule: who works where, on how much, and how urgently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import TypeVar

from switch_nodes.aggregators.checks import AGES
from switch_nodes.jobs import AggregatorKnobs
from testbed.hunt.contract import Hunted
from testbed.hunt.tape import draw_value
from testbed.scenario.model import Job
from workloads.datagrams.priority import PRIORITIES

__all__ = ["draw_jobs", "draw_knobs"]

T = TypeVar("T")

_JOBS = {1: 44, 2: 32, 3: 12, 4: 12}
_WORKERS = {1: 6, 2: 42, 3: 28, 4: 24}
_WINDOWS = {1: 14, 2: 22, 3: 16, 4: 16, 6: 10, 8: 10, 12: 5, 16: 7}
_ITERATIONS = {1: 58, 2: 30, 3: 12}
_WORKLOADS = {"synthetic": 70, "extreme": 30}
_SHARED_SERVER = 0.4
_ALIKE = 0.5
_EQUAL = 0.15
"""share of those with priorities in which all are equal"""
_MOST_CONTRIBUTIONS = 64
"""of all workers together, unless the dice want a large one; a parameter server makes each worth two"""


def _weighted(draw: Random, weights: Mapping[T, int]) -> T:
    return draw.choices(list(weights), list(weights.values()))[0]


def draw_jobs(draw: Random, protocol: Hunted, mtu: int) -> tuple[tuple[Job, ...], int]:
    """(jobs without stragglers, hosts h1 .. hN that they need). Roles are dealt out to hosts at random: workers of one
    job may be in several racks, and its server in any."""
    count = _weighted(draw, _JOBS)
    equal = draw.random() < _EQUAL
    alike, each = draw.random() < _ALIKE, _weighted(draw, _WORKERS)
    sizes = [each if alike else _weighted(draw, _WORKERS) for _ in range(count)]
    servers = 0 if not protocol.server else 1 if draw.random() < _SHARED_SERVER else count
    hosts = max(2, sum(sizes) + servers)  # a rack of one host is none
    names = [f"h{number}" for number in range(1, hosts + 1)]
    if draw.random() < 0.5:
        draw.shuffle(names)
    places, homes = names[: sum(sizes)], names[sum(sizes) :]
    most = _MOST_CONTRIBUTIONS * _weighted(draw, {1: 95, 3: 5}) // (sum(sizes) * (2 if protocol.server else 1))
    base = Job(protocol=protocol.name, server=f"h{hosts}" if protocol.server else "")
    jobs: list[Job] = []
    for index, size in enumerate(sizes):
        job = _job(draw, protocol, base, most, mtu)
        if alike and jobs:
            job = replace(jobs[0], seed_offset=0)
        start = sum(sizes[:index])
        jobs.append(
            replace(
                job,
                name=f"job{index + 1}",
                number=index + 1,
                seed_offset=index,
                hosts=tuple(places[start : start + size]),
                server=homes[index % servers] if servers else "",
                priority=base.priority if not protocol.knobs else "equal" if equal else draw.choice(list(PRIORITIES)),
            )
        )
    return tuple(jobs), hosts


def draw_knobs(draw: Random, protocol: Hunted) -> AggregatorKnobs:
    """Where a switch gives results out, only reminders find a sum that all but one worker have: they go together."""
    reclaim = draw.random() < 0.85
    if not protocol.knobs:
        return AggregatorKnobs(reclaim=reclaim)
    free = "early" if draw.random() < 0.75 else "ack"
    return AggregatorKnobs(
        preempt=draw.random() < 0.85,
        age=draw.choice(AGES),
        free=free,
        ps_copy=draw.random() < 0.7,
        reminder=free == "early" or draw.random() < 0.7,
        reclaim=reclaim,
    )


def _job(draw: Random, protocol: Hunted, base: Job, packets: int, mtu: int) -> Job:
    """About `packets` packets per worker at most."""
    iterations = _weighted(draw, _ITERATIONS)
    dtype, window = _weighted(draw, protocol.dtypes), _weighted(draw, _WINDOWS)
    workload = "extreme" if dtype == "int32sat" else draw_value(draw, _WORKLOADS)  # other sums would all leave int32
    room = max(1, packets // iterations)
    if dtype == "float32":  # exponents go ahead by a window
        window = max(1, min(window, room // 2))
        room = max(1, room - window)
    blocks = max(draw.randint(1, room), draw.randint(1, room))
    last = mtu if draw.random() < 0.3 else draw.randrange(4, mtu + 1, 4)
    return replace(
        base, workload=workload, size_bytes=(blocks - 1) * mtu + last, dtype=dtype, iterations=iterations,
        window_packets=window,
    )  # fmt: skip
