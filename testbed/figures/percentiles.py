"""How long messages and iterations took, one by one: percentiles over all workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.checkers.parts import parts_of
from workloads.events import CollectiveCompleted, CollectiveStarted, MessageAcked, MessagePosted

__all__ = ["iteration_times", "message_times", "nearest_rank"]

_PERCENTS = (50, 95, 99)


def iteration_times(context: CheckContext) -> dict[str, Any]:
    """The `iteration_times` of the metrics: from when a worker began an iteration until it held its result. None where
    the job did not end: the slowest would be missing."""
    began, times = dict[tuple[str, int], int](), list[int]()
    for started in context.events(CollectiveStarted):
        began.setdefault((started.node, started.event.iteration), started.t)
    for done in context.events(CollectiveCompleted):
        since = began.get((done.node, done.event.iteration))
        if since is not None:
            times.append(done.event.completed_ns - since)
    return _percentiles(times if context.all_finished else ())


def message_times(context: CheckContext) -> dict[str, Any]:
    """The `message_times` of the metrics: from when a worker posted a message until it was acknowledged. The hello
    carries no gradient, and does not count. None where datagrams travel: they have no messages."""
    times = list[int]()
    for part in parts_of(context).values() if context.all_finished else ():
        hello, posted = part.plan.scenario.job.hello, dict[tuple[str, str, int], int]()
        for record in sorted(part.events(MessagePosted, MessageAcked), key=lambda record: record.t):
            key = record.node, record.event.phase, record.event.message
            if isinstance(record.event, MessagePosted):
                posted[key] = record.t
            elif key in posted:
                since = posted.pop(key)
                if not (hello and record.event.message == 0):
                    times.append(record.t - since)
    return _percentiles(times)


def _percentiles(times_ns: Sequence[int]) -> dict[str, Any]:
    ordered = sorted(times_ns)
    found = {f"p{percent}_s": nearest_rank(ordered, percent) / 1e9 if ordered else None for percent in _PERCENTS}
    return {"count": len(ordered), **found}


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """The least value that at least so many percent of all do not exceed; of one value or more, in ascending order."""
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]
