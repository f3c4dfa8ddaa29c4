"""Marks and rates of senders in a history: what the checker of congestion control and the figures start from."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.faults.events import FaultStruck
from testbed.history.events import ShapingMeasured
from workloads.events import RateChanged

__all__ = ["marks_of", "rate_timeline"]


def marks_of(context: CheckContext) -> int:
    """Frames that got CE: in queues, and by faults."""
    struck = len([record for record in context.events(FaultStruck) if record.event.kind == "ecn_mark"])
    return sum(record.event.marks for record in context.events(ShapingMeasured)) + struck


def rate_timeline(context: CheckContext, worker: str) -> list[tuple[int, int]]:
    """(from when in ns, bit/s) of a worker's requests, from 0 on. Raises ValueError for no such worker, or one without
    congestion control."""
    for config in context.plan.ring_workers:
        if config.name == worker and config.to_successor.dcqcn is not None:
            line = config.to_successor.dcqcn.line_rate_bps
            changes = [record for record in context.events(RateChanged) if record.node == worker]
            return [(0, line), *((record.t, record.event.rate_bps) for record in changes)]
    raise ValueError(f"{worker} is no worker with congestion control")
