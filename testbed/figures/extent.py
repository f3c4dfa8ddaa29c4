"""From when to when a job lasts, for every axis of time."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.history import Record, of_kinds
from testbed.history.events import RealLimitReached, TimeLimitReached
from workloads.events import CollectiveCompleted, CollectiveStarted, WorkerFinished

__all__ = ["end_of_job"]

_LIMITS = TimeLimitReached, RealLimitReached


def end_of_job(history: Sequence[Record]) -> int:
    """ns. When the last worker held its last result; where one does not, when the last thing was recorded."""
    last = max([record.t for record in history], default=0)
    began, finished, completed = set[str](), set[str](), 0
    for record in of_kinds(history, CollectiveStarted, CollectiveCompleted, WorkerFinished, *_LIMITS):
        event = record.event
        if isinstance(event, CollectiveStarted):
            began.add(record.node)
        elif isinstance(event, CollectiveCompleted):
            completed = max(completed, event.completed_ns or record.t)
        elif isinstance(event, WorkerFinished):
            finished.add(record.node)
        else:
            return last
    return min(completed, last) if completed and began <= finished else last
