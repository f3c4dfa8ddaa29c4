"""What a person sees while a run goes on, fed by its records."""

from __future__ import annotations

from collections.abc import Callable

from switch_nodes.events import RulesReplaced
from testbed.checkers.context import CheckContext
from testbed.checkers.messages import message_layout
from testbed.checkers.reference import workers_in
from testbed.faults.events import FaultStruck
from testbed.history import Record
from testbed.history.events import NodeExited, RealLimitReached, TimeLimitReached, TrafficStarted
from testbed.plan import Plan
from testbed.plan.time_need import time_need
from testbed.steering.events import RulesInstalled
from testbed.terminal.activity import State, begin, end
from testbed.terminal.numbers import quantity, seconds
from testbed.terminal.ticker import speak
from testbed.terminal.words import amount
from workloads.collectives.kinds import ring_kind
from workloads.datagrams.blocks import BlockSummed
from workloads.events import (
    CollectiveCompleted,
    CollectiveStarted,
    DatagramResent,
    FrameRejected,
    MessageAcked,
    MessageReceived,
    QpFailed,
    Retransmission,
    TrainingProgress,
    WorkerFailed,
    WorkerFellBack,
)
from workloads.machine import Event

__all__ = ["Progress"]

_NEWS: frozenset[type[Event]] = frozenset(
    {MessageReceived, MessageAcked, BlockSummed, CollectiveStarted, CollectiveCompleted}
)
"""records of a job that gets on"""
_NOTED: frozenset[type[Event]] = frozenset(
    {
        MessageReceived, Retransmission, DatagramResent,
        CollectiveStarted, TrainingProgress, TrafficStarted, FaultStruck, CollectiveCompleted, FrameRejected, QpFailed,
        WorkerFellBack, RulesReplaced, RulesInstalled, WorkerFailed, NodeExited, TimeLimitReached, RealLimitReached,
    }
)  # fmt: skip
"""records that are counted, or may be worth a line"""
_LONG_NS = 100_000_000
_DIGITS = 4
_NEARLY = 0.9
"""share of the time that a job needs; beyond it, time says nothing of what is left"""


def _happened_ns(record: Record) -> int:
    """A worker records a result a while after it was there."""
    return record.event.completed_ns or record.t if isinstance(record.event, CollectiveCompleted) else record.t


def _at(ns: int) -> str:
    return f"{quantity(ns / 1e9, 's', _DIGITS):>9}  "


class Progress:
    """Lines of what changes, and how far the run is, for the ticker that shows it by the clock on the wall. Its maker
    closes it, also when the run fails. It counts records: no clock, no thread."""

    def __init__(self, plan: Plan, say: Callable[[str], None] = speak) -> None:
        self._say, self._plan = say, plan
        self._iterations = max(worker.workload.iterations for worker in plan.workers)
        self._in_rings = bool(plan.ring_workers) and not plan.beside
        self._results = message_layout(CheckContext(plan, ())).total if self._in_rings else 0
        """results per worker"""
        self._workers = len(plan.workers)
        self._counts_messages = not plan.beside and ring_kind(plan.workers[0].collective.kind).in_messages
        self._received = self._struck = self._went_back = 0
        self._completed: dict[int, int] = {}
        self._complete_ns: dict[int, int] = {}
        """time when the last result so far was there, by iteration"""
        self._announced: set[str] = set()
        self._failed: set[tuple[str, str]] = set()
        """(node, why) of queue pairs: their workers give up for the same reason"""
        self._accuracy: float | None = None
        self._time_ns = self._new_ns = 0
        self._about_ns = 1e9 * time_need(plan).about_s
        self._activity = begin(self.state)

    def __call__(self, record: Record) -> None:
        """As a world's `on_record`."""
        self._time_ns = record.t
        kind = type(record.event)
        if kind in _NEWS:
            self._new_ns = max(self._new_ns, _happened_ns(record))
        if kind in _NOTED and (line := self._note(record)):
            self._say(line)

    def close(self) -> None:
        end(self._activity)

    def _note(self, record: Record) -> str:
        """Count it; the line that it is worth, if any."""
        event = record.event
        if isinstance(event, MessageReceived):
            self._received += 1
            return ""
        if isinstance(event, Retransmission | DatagramResent):
            self._went_back += 1
            return ""
        at = _at(record.t)
        if isinstance(event, CollectiveStarted):
            if self._in_rings:
                self._results = message_layout(CheckContext(self._plan, (record,))).total
        elif isinstance(event, TrainingProgress):
            self._accuracy = event.accuracy
        elif isinstance(event, TrafficStarted):
            return f"{at}{event.nodes} nodes are up, the traffic starts"
        elif isinstance(event, FaultStruck):
            self._struck += 1
            if event.fault not in self._announced:
                self._announced.add(event.fault)
                where = f"{event.target} {event.direction}".strip()
                return f"{at}{event.fault} hits for the first time, on {where}"
        elif isinstance(event, CollectiveCompleted):
            number = event.iteration
            self._completed[number] = self._completed.get(number, 0) + 1
            self._complete_ns[number] = max(self._complete_ns.get(number, 0), _happened_ns(record))
            if self._completed[number] == len(workers_in(self._plan, number)) and self._worth_a_line(number):
                at = _at(self._complete_ns[number])
                return f"{at}iteration {number + 1} of {self._iterations} complete{self._quality()}"
        elif isinstance(event, FrameRejected) and event.reason == "bad_result" and "bad_result" not in self._announced:
            self._announced.add("bad_result")
            return f"{at}{record.node} is the first to refuse a result: {event.detail}"
        elif isinstance(event, QpFailed):
            self._failed.add((record.node, event.status))
            return f"{at}{record.node}: queue pair {event.qpn:#x} failed with {event.status}"
        elif isinstance(event, WorkerFellBack):
            return f"{at}{record.node} starts again as {event.protocol}: {event.reason}"
        elif isinstance(event, RulesReplaced | RulesInstalled) and event.reason not in ("start", "connected"):
            what = "the accelerator is out of use" if event.fallback else "other flow rules"
            return f"{at}{record.node}: {event.reason}, {what}"
        elif isinstance(event, WorkerFailed) and (record.node, event.reason) not in self._failed:
            return f"{at}{record.node} gave up: {event.reason}"
        elif isinstance(event, NodeExited) and not event.expected:
            return f"{at}{record.node} ended unasked with status {event.status}"
        elif isinstance(event, TimeLimitReached):
            over = record.t >= event.limit_ns
            return f"{at}the time limit is reached" if over else f"{at}nothing more can happen before the time limit"
        elif isinstance(event, RealLimitReached):
            return f"{at}the limit of real time is reached ({seconds(event.limit_s)})"
        return ""

    def _worth_a_line(self, iteration: int) -> bool:
        """About twenty lines in all."""
        step = max(1, self._iterations // 20)
        return (iteration + 1) % step == 0 or iteration + 1 == self._iterations

    def _quality(self) -> str:
        return "" if self._accuracy is None else f", accuracy {self._accuracy:.1%}"

    def state(self) -> State:
        done = sum(count == len(workers_in(self._plan, number)) for number, count in list(self._completed.items()))
        text = f"iteration {min(done + 1, self._iterations)} of {self._iterations}"
        if self._counts_messages:
            text += f", {self._received:,} of {self._results * self._workers:,} results"
        text += f", {amount(self._struck, 'hit')}, {amount(self._went_back, 'retransmission')}{self._quality()}"
        if self._time_ns - self._new_ns > max(_LONG_NS, self._new_ns):
            text += f", nothing arrived since {seconds(self._new_ns / 1e9)}"
        return State(text, self._done())

    def _done(self) -> float | None:
        """0 to 1. Where neither results nor iterations say it: by the time that the job needs without faults, as long
        as that is not nearly over."""
        if self._counts_messages:
            done = self._received / max(1, self._results * self._workers)
        else:
            total = sum(worker.workload.iterations for worker in self._plan.workers)
            done = sum(list(self._completed.values())) / max(1, total)
        by_time = self._time_ns / max(1.0, self._about_ns)
        return done if done else by_time if by_time < _NEARLY else None
