"""What a person sees while a run goes on, fed by its records."""

from __future__ import annotations

from typing import TextIO

from switch_nodes.events import RulesReplaced
from testbed.checkers.context import CheckContext
from testbed.checkers.messages import message_layout
from testbed.checkers.reference import workers_in
from testbed.faults.events import FaultStruck
from testbed.history import Record
from testbed.history.events import NodeExited, TimeLimitReached, TrafficStarted
from testbed.plan import Plan
from testbed.steering.events import RulesInstalled
from testbed.terminal.folding import fold_laid_out
from testbed.terminal.statusline import StatusLine
from testbed.terminal.stream import columns, wants_color
from testbed.terminal.words import amount
from workloads.collectives.kinds import ring_kind
from workloads.events import (
    CollectiveCompleted,
    CollectiveStarted,
    DatagramResent,
    FrameRejected,
    MessageReceived,
    QpFailed,
    Retransmission,
    TrainingProgress,
    WorkerFailed,
    WorkerFellBack,
)

__all__ = ["Progress"]

_LINE_EVERY_NS = 5_000_000_000
_DRAW_EVERY_NS = 100_000_000


class Progress:
    """A bar on a terminal, lines elsewhere: what changes, and a sign of life every five seconds of the run. Whoever
    made it closes it, also when the run fails: `close` takes the bar away.

    It draws only when a record comes, from the caller's thread, and takes time from the records: no clock, no thread.
    """

    def __init__(self, plan: Plan, stream: TextIO, *, no_color: bool = False) -> None:
        self._stream, self._plan = stream, plan
        self._iterations = max(worker.workload.iterations for worker in plan.workers)
        self._in_rings = bool(plan.ring_workers) and not plan.beside
        self._results = message_layout(CheckContext(plan, ())).total if self._in_rings else 0
        """per worker"""
        self._workers = len(plan.workers)
        self._counts_messages = not plan.beside and ring_kind(plan.workers[0].collective.kind).in_messages
        self._received = self._struck = self._went_back = 0
        self._completed: dict[int, int] = {}
        self._announced: set[str] = set()
        self._failed: set[tuple[str, str]] = set()
        """(node, why) of queue pairs: their workers give up for the same reason"""
        self._accuracy: float | None = None
        self._next_ns = 0
        self._bar = StatusLine(stream) if wants_color(stream, no_color) else None

    def __call__(self, record: Record) -> None:
        """As a world's `on_record`."""
        line = self._note(record)
        if line:
            self._tell(line)
        time_ns = record.t
        if time_ns >= self._next_ns:
            if self._bar is not None:
                self._bar.show(self._done(), self._state())
                self._next_ns = time_ns + _DRAW_EVERY_NS
            else:
                if self._next_ns:
                    self._tell(f"{time_ns / 1e9:6.1f} s  {self._state()}")
                self._next_ns = time_ns + _LINE_EVERY_NS

    def close(self) -> None:
        if self._bar is not None:
            self._bar.show(self._done(), self._state())
            self._bar.close()
            self._bar = None

    def _note(self, record: Record) -> str:
        """Count it; the line that it is worth, if any."""
        event, at = record.event, f"{record.t / 1e9:6.1f} s  "
        if isinstance(event, MessageReceived):
            self._received += 1
        elif isinstance(event, Retransmission | DatagramResent):
            self._went_back += 1
        elif isinstance(event, CollectiveStarted):
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
                return f"{at}{event.fault} strikes for the first time, on {where}"
        elif isinstance(event, CollectiveCompleted):
            number = event.iteration
            self._completed[number] = self._completed.get(number, 0) + 1
            if self._completed[number] == len(workers_in(self._plan, number)) and self._worth_a_line(number):
                return f"{at}iteration {number + 1} of {self._iterations} complete{self._quality()}"
        elif isinstance(event, FrameRejected) and event.reason == "bad_result" and "bad_result" not in self._announced:
            self._announced.add("bad_result")
            return f"{at}{record.node} is the first to refuse a result: {event.detail}"
        elif isinstance(event, QpFailed):
            self._failed.add((record.node, event.status))
            return f"{at}{record.node}: queue pair {event.qpn:#x} failed with {event.status}"
        elif isinstance(event, WorkerFellBack):
            return f"{at}{record.node} starts anew as {event.collective}: {event.reason}"
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
        return ""

    def _worth_a_line(self, iteration: int) -> bool:
        """About twenty lines in all."""
        step = max(1, self._iterations // 20)
        return (iteration + 1) % step == 0 or iteration + 1 == self._iterations

    def _quality(self) -> str:
        return "" if self._accuracy is None else f", accuracy {self._accuracy:.1%}"

    def _state(self) -> str:
        done = sum(count == len(workers_in(self._plan, number)) for number, count in self._completed.items())
        text = f"iteration {min(done + 1, self._iterations)} of {self._iterations}"
        if self._counts_messages:
            text += f", {self._received:,} of {self._results * self._workers:,} results"
        return f"{text}, {amount(self._struck, 'strike')}, {amount(self._went_back, 'retransmission')}{self._quality()}"

    def _tell(self, line: str) -> None:
        if self._bar is not None:
            self._bar.say(line)
        else:
            self._stream.writelines(f"{row}\n" for row in fold_laid_out(line, columns(self._stream)))
            self._stream.flush()

    def _done(self) -> float:
        """0 to 1"""
        if self._counts_messages:
            return self._received / max(1, self._results * self._workers)
        total = sum(worker.workload.iterations for worker in self._plan.workers)
        return sum(self._completed.values()) / max(1, total)
