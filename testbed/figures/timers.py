"""The part of the job completion time in which hosts stood still until a retransmission timer ran out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.history.events import TrafficStarted
from workloads.events import CollectiveCompleted, DatagramResent, Retransmission

__all__ = ["MUCH", "timer_metrics"]

MUCH = 0.2
"""A larger part of the job completion time deserves a line of its own."""
_OF_TIMERS = ("timeout", "nack")
"""causes of repetitions: a timer of the sender, or of its server, which asks then"""


def timer_metrics(context: CheckContext, jct_s: float | None) -> dict[str, float | None]:
    """The `jct` of the metrics: `timers_s`, the time in which at least one host of a job made no progress before a
    retransmission timer ran out, and `timers`, its part of the job completion time. None: the job did not end, or a
    host does not report how long it waited."""
    waits = _waits(context)
    if waits is None or jct_s is None:
        return {"timers": None, "timers_s": None}
    start = next((record.t for record in context.events(TrafficStarted)), 0)
    end = max((done.event.completed_ns for done in context.events(CollectiveCompleted)), default=start)
    seconds = _covered((max(since, start), min(until, end)) for since, until in waits) / 1e9
    return {"timers": seconds / jct_s if jct_s else 0.0, "timers_s": seconds}


def _waits(context: CheckContext) -> list[tuple[int, int]] | None:
    """(since when without progress, until when) of each timer that had packets sent again."""
    if context.plan.scenario.nics:
        return None
    found = []
    for record in context.events(Retransmission, DatagramResent):
        event: Any = record.event
        if event.cause in _OF_TIMERS:
            if event.waited_ns is None:
                return None
            found.append((record.t - event.waited_ns, record.t))
    return found


def _covered(spans: Iterable[tuple[int, int]]) -> int:
    """Time that at least one of them covers."""
    covered, reached = 0, None
    for since, until in sorted(spans):
        since = since if reached is None else max(since, reached)
        if until > since:
            covered, reached = covered + until - since, until
    return covered
