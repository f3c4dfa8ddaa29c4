"""How a job got over each change of its gradient routes, from the history alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.history.events import TrafficStarted
from testbed.plan.model import RoutedFrom
from workloads.datagrams.blocks import BlockSummed

__all__ = ["routing_metrics"]

_WINDOW_NS = 50_000_000
_BACK = 0.9
"""share of the new plan's rate"""


def routing_metrics(context: CheckContext) -> dict[str, Any] | None:
    """The `routing` of the metrics; None where no plan of gradient routes was followed."""
    plan = context.plan
    if not plan.routing:
        return None
    started = [record.t for record in context.events(TrafficStarted)]
    servers = {server.name for server in plan.servers}
    start_ns = started[0] if started else 0
    summed = context.events(BlockSummed)
    sums = sorted(record.t - start_ns for record in summed if record.node in servers)
    frame_bits = 8 * plan.workers[0].framing.frame_bytes
    ends = [later.from_ns for later in plan.routing[1:]] + [max(sums, default=0) + 1]
    changes = [
        _change(routed, sums, frame_bits, until)
        for routed, until in zip(plan.routing, ends, strict=True)
        if routed.because_ns is not None
    ]
    return {
        "planner": plan.routing[0].plan.planner,
        "planned_bps": plan.routing[0].plan.min_rate_bps,
        "replans": changes,
        "unroutable": [{"at_s": each.because_ns / 1e9, "reason": each.reason} for each in plan.unroutable],
    }


def _change(routed: RoutedFrom, sums: Sequence[int], frame_bits: int, until_ns: int) -> dict[str, Any]:
    """`sums`: when each block was complete, ascending. Until `until_ns` the plan held, or there was something to
    sum."""
    assert routed.because_ns is not None, "asked by the caller"
    rate = routed.plan.min_rate_bps / frame_bits / 1e9  # blocks per ns
    since = [time for time in sums[bisect_left(sums, routed.from_ns) :] if time < until_ns]
    wanted = _BACK * rate * _WINDOW_NS
    back = next(
        (time for place, time in enumerate(since) if bisect_left(since, time + _WINDOW_NS, place) - place >= wanted),
        None,
    )
    spent = since[-1] - back if since and back is not None else 0
    return {
        "at_s": routed.because_ns / 1e9,
        "installed_s": routed.from_ns / 1e9,
        "first_sum_s": (since[0] - routed.because_ns) / 1e9 if since else None,
        "recovered_s": None if back is None else (back - routed.because_ns) / 1e9,
        "planned_bps": routed.plan.min_rate_bps,
        "measured_bps": frame_bits * 1e9 * sum(back < time for time in since) / spent
        if back is not None and spent
        else None,
    }
