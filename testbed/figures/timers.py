"""The part of the job completion time in which hosts stood still until a retransmission timer ran out."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.history.events import TrafficStarted
from workloads.config import HostConfig
from workloads.events import CollectiveCompleted, CollectiveStarted, DatagramResent, GradientComputed, Retransmission

__all__ = ["MUCH", "timer_metrics"]

MUCH = 0.2
"""A larger part of the job completion time deserves a line of its own."""
_OF_TIMERS = ("timeout", "nack")
"""causes of repetitions: a timer of the sender, or of its server, which asks then"""


def timer_metrics(context: CheckContext, jct_s: float | None) -> dict[str, float | None]:
    """The `jct` of the metrics. `timers_s` is the time in which at least one host of a job made no progress before a
    retransmission timer ran out. Only time in which all workers of the job had their gradients counts. `timers` is its
    part of the job completion time. With several jobs, they use the means of both times. A wait for a worker that
    computes or starts late does not count: it would last as long with any timer. None: a job did not end, or a host
    does not report how long it waited."""
    waits = _waits(context)
    if waits is None or jct_s is None:
        return {"timers": None, "timers_s": None}
    start = next((record.t for record in context.events(TrafficStarted)), 0)
    last = dict[str, int]()
    for done in context.events(CollectiveCompleted):
        last[done.node] = max(done.event.completed_ns, last.get(done.node, 0))
    covered_ns, jobs_ns = list[int](), 0
    for workers in (group for part in context.plan.parts for group in part.groups.values()):
        begin = start + workers[0].workload.arrival_ns
        end = max(last.get(worker.name, begin) for worker in workers)
        spans = _from_full(context, workers, waits)
        covered_ns.append(_covered((max(since, begin), min(until, end)) for since, until in spans))
        jobs_ns += end - begin
    seconds = sum(covered_ns) / max(1, len(covered_ns)) / 1e9
    return {"timers": sum(covered_ns) / jobs_ns if jobs_ns else 0.0, "timers_s": seconds}


def _waits(context: CheckContext) -> dict[str, list[tuple[int, int]]] | None:
    """By host: (since when without progress, until when) of each timer that had packets sent again."""
    if context.plan.scenario.nics:
        return None
    found = defaultdict[str, list[tuple[int, int]]](list)
    for record in context.events(Retransmission, DatagramResent):
        event: Any = record.event
        if event.cause in _OF_TIMERS:
            if event.waited_ns is None:
                return None
            found[record.node].append((record.t - event.waited_ns, record.t))
    return found


def _from_full(
    context: CheckContext, workers: Sequence[HostConfig], waits: dict[str, list[tuple[int, int]]]
) -> Iterator[tuple[int, int]]:
    """The waits of a job's workers, each from when all of them had the whole gradient of the waiting worker's
    iteration."""
    layered = {worker.name for worker in workers if _emits_layers(worker)}
    names = {worker.name for worker in workers}
    full = defaultdict[int, int](int)
    began = defaultdict[str, list[tuple[int, int]]](list)
    for started in context.events(CollectiveStarted):
        if started.node in names:
            full[started.event.iteration] = max(full[started.event.iteration], started.t)
            began[started.node].append((started.t, started.event.iteration))
    for computed in context.events(GradientComputed):
        if computed.node in layered:
            full[computed.event.iteration] = max(full[computed.event.iteration], computed.event.ready_ns)
    for name in names:
        for since, until in waits.get(name, ()):
            place = bisect_right(began[name], until, key=lambda entry: entry[0])
            yield max(since, full[began[name][place - 1][1]] if place else 0), until


def _emits_layers(worker: HostConfig) -> bool:
    """What it computes follows from no result of the same iteration, as a stage does."""
    return worker.workload.compute is not None and not worker.workload.compute.in_stages


def _covered(spans: Iterable[tuple[int, int]]) -> int:
    """Time that at least one of them covers."""
    covered, reached = 0, None
    for since, until in sorted(spans):
        since = since if reached is None else max(since, reached)
        if until > since:
            covered, reached = covered + until - since, until
    return covered
