"""Bandwidths as collectives are compared by them, and what links carried.

`algbw` and `busbw` are those of nccl-tests (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md), in
bits per second: the size of a gradient over the time of its all-reduce, and the same times 2 (n - 1) / n for n ranks.
That is what each link carries if no switch sums, so a ring reaches the rate of its links, and NetReduce may exceed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.history import Record, of_kind
from testbed.history.events import ShapingMeasured, TrafficStarted
from testbed.scenario.protocols.known import protocol_of
from topologies import Direction
from workloads.collectives.operations import OPERATIONS

__all__ = ["bandwidths", "link_metrics", "others_since", "utilisation"]


def bandwidths(context: CheckContext, goodput_bps: float | None) -> dict[str, float | None]:
    """`algbw_bps` and `busbw_bps` of the metrics; None where the job is no all-reduce, did not end, or is not the only
    one."""
    if goodput_bps is None or not protocol_of(context.plan.scenario.job.runs).result().is_sum:
        return {"algbw_bps": None, "busbw_bps": None}
    return {
        "algbw_bps": goodput_bps,
        "busbw_bps": goodput_bps
        * OPERATIONS[context.plan.scenario.job.operation].bus_factor(max(map(len, context.plan.groups.values()))),
    }


def link_metrics(context: CheckContext, duration_s: float | None) -> dict[str, dict[str, Any]]:
    """`wire` and `busiest_link` of the metrics. Bytes are those of whole frames, other tenants' too. `duration_s`: of
    the job. None: the world did not measure its links."""
    links = {link.name: link for link in context.plan.scenario.topology.links}
    workers = frozenset(context.workers)
    measured = context.events(ShapingMeasured)
    sent = received = 0
    for found in (record.event for record in measured):
        link = links[found.link]
        source, target = (link.a, link.b) if found.direction == Direction.UP else (link.b, link.a)
        sent += found.bytes if source in workers else 0
        received += found.bytes if target in workers else 0
    ranks = len(context.workers)
    return {
        "wire": {
            "sent_per_rank_bytes": sent / ranks if measured else None,
            "received_per_rank_bytes": received / ranks if measured else None,
        },
        "busiest_link": _busiest(context, measured, duration_s),
    }


def _busiest(
    context: CheckContext, measured: Sequence[Record[ShapingMeasured]], duration_s: float | None
) -> dict[str, Any]:
    if not measured:
        return {"link": None, "bytes": None, "utilisation": None}
    most = max(measured, key=lambda record: record.event.bytes / record.event.rate_bps)
    return {
        "link": f"{most.event.link} {most.event.direction}",
        "bytes": most.event.bytes,
        "utilisation": utilisation(most, others_since(context.history, bool(context.plan.background)), duration_s),
    }


def others_since(history: Iterable[Record], are_there: bool) -> int | None:
    """Time in ns since when traffic of other tenants loads the links. None: the job is alone."""
    return next((record.t for record in of_kind(history, TrafficStarted)), 0) if are_there else None


def utilisation(
    measured: Record[ShapingMeasured], others_since_ns: int | None, duration_s: float | None
) -> float | None:
    """Share of the rate of a direction that was used. After a job only acknowledgements follow. Other tenants go on
    until the links are read. `duration_s`: of the job. None: it is not known."""
    seconds = duration_s if others_since_ns is None else (measured.t - others_since_ns) / 1e9
    # A few frames may follow the job.
    return min(1.0, 8 * measured.event.bytes / (measured.event.rate_bps * seconds)) if seconds else None
