"""A simulated run that the clock on the wall ended: what it had done until then."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.history.events import RealLimitReached
from testbed.terminal.numbers import seconds
from testbed.terminal.words import amount
from workloads.events import CollectiveCompleted, DatagramResent, Retransmission

__all__ = ["ended_early"]


def ended_early(context: CheckContext) -> str:
    """How it ended, and how to let it go on for longer. Empty: it was not ended."""
    for record in context.events(RealLimitReached):
        event = record.event
        total = max((worker.workload.iterations for worker in context.plan.workers), default=0)
        each = dict.fromkeys((worker.name for worker in context.plan.workers), 0)
        for completed in context.events(CollectiveCompleted):
            each[completed.node] = each.get(completed.node, 0) + 1
        done = min(each.values(), default=0)
        again = len(context.events(Retransmission, DatagramResent))
        each_did = (event.frames, "frame"), (event.events, "event"), (event.wakeups, "timer")
        did = ", ".join(amount(count, what) for count, what in each_did)
        return (
            f"ended after {seconds(event.limit_s)} of real time at {seconds(record.t / 1e9)} of virtual time, in "
            f"iteration {min(done + 1, total)} of {total}, with {amount(again, 'retransmission')}. In the last "
            f"{seconds(event.last_s)} ({seconds(event.last_ns / 1e9)} of virtual time) {event.busiest} did most: "
            f"{did}; "
            "--real-limit 1h allows more time"
        )
    return ""
