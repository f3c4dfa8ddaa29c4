"""All-reduces over an emulated network: the workers are processes in namespaces and share the ranks' memory."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from testbed.history import Record
from testbed.history.events import NodeExited, TrafficStarted
from testbed.history.training_events import AllReduceCarried
from testbed.plan import Plan
from testbed.terminal.numbers import moment
from testbed.train.expected import piece_judge
from testbed.train.network import IDLE_TURN_S, Gradient, SumArrived, Tasks, cut
from testbed.train.planning import carries_all, has_one_size
from testbed.train.tasks import expected_of_tasks, posted_event
from workloads.events import WorkerFailed
from workloads.gradients.external import ExternalSource, attach_sources
from workloads.gradients.shared import SharedPieces
from workloads.machine import Event

__all__ = ["EmulatedNetwork"]

POLL_NS = 500_000
"""interval in which an idle worker looks for a gradient"""
BUSY_TURN_S = 0.0005
"""time between two looks for sums"""


@dataclass(slots=True)
class _AllReduce:
    number: int
    first_piece: int
    behind: int
    """first piece that is not of it"""
    posted_at: int
    """CLOCK_MONOTONIC, ns"""


class EmulatedNetwork:
    """A Network. Make it before the worker processes are forked. `memories`: of the ranks, by rank, as
    `RankServer.memories`; what is to be carried lies in them. `tell` is called with events."""

    def __init__(self, plan: Plan, memories: Sequence[Gradient], tell: Callable[[Event], None]) -> None:
        self._plan, self._memories, self._tell = plan, memories, tell
        self._elements = plan.workers[0].workload.elements
        ranks = len(memories) if carries_all(plan) else 0
        self._mailboxes = [
            SharedPieces(gradients, totals, ranks) for gradients, totals in (np.split(memory, 2) for memory in memories)
        ]
        attach_sources(
            {
                rank: ExternalSource(mailbox, self._elements, poll_ns=POLL_NS, fill_up=has_one_size(plan))
                for rank, mailbox in enumerate(self._mailboxes)
            }
        )
        self._judge = piece_judge(plan)
        self._under_way: deque[_AllReduce] = deque()
        self._unposted: deque[tuple[Sequence[Gradient], Tasks | None]] = deque()
        self._unjudged: deque[tuple[int, Sequence[Gradient], Tasks | None]] = deque()
        """(iteration, pieces by rank, their tasks): they must be read before the rank gets its sum, and uses the memory
        again"""
        self.problem: str | None = None
        self.is_stuck = False
        """no worker said that anything is wrong, and no sum came"""
        self._closed = False
        self.iterations = 0
        """pieces so far"""

    @property
    def turn_s(self) -> float:
        if self.problem is None and self._unjudged:
            return 0.0
        return BUSY_TURN_S if self._under_way and self.problem is None else IDLE_TURN_S

    def carry(
        self, number: int, gradients: Sequence[Gradient], totals: Sequence[Gradient], tasks: Tasks | None = None
    ) -> None:
        first = self.iterations
        for pieces in cut(gradients, self._elements) if tasks is None else [gradients]:
            self._unjudged.append((self.iterations, pieces, tasks))
            self._unposted.append((pieces, tasks))
            self.iterations += 1
        self._tell(posted_event(number, gradients, first, self.iterations - first, tasks))
        self._under_way.append(_AllReduce(number, first, self.iterations, time.monotonic_ns()))
        self._post()

    def work(self) -> Iterator[SumArrived]:
        self._post()
        delivered = min(mailbox.delivered for mailbox in self._mailboxes)
        while self._under_way and self._under_way[0].behind <= delivered and self.problem is None:
            done = self._under_way.popleft()
            self._unjudged = deque(
                (iteration, [piece.copy() for piece in pieces] if iteration < done.behind else pieces, tasks)
                for iteration, pieces, tasks in self._unjudged
            )
            took = time.monotonic_ns() - done.posted_at
            self._tell(AllReduceCarried(done.number, took))
            yield SumArrived(done.number, took)
        if self._unjudged:
            # One at a time: whoever waits for a sum is served in between.
            self._judge_oldest()

    def hear(self, record: Record) -> None:
        """An event of the world: a worker that is gone sums nothing any more."""
        for found in self._judge.hear(record):
            self._tell(found)
        if self.problem is not None or self._closed:
            return
        event = record.event
        if isinstance(event, TrafficStarted):
            for posted in self._under_way:  # what waited for the network was not in it
                posted.posted_at = time.monotonic_ns()
        elif isinstance(event, WorkerFailed):
            self._fail(record, f"{record.node} gave up with {event.reason}: {event.detail}")
        elif isinstance(event, NodeExited) and record.node in {worker.name for worker in self._plan.workers}:
            self._fail(record, f"{record.node} died: no rank can go on without its worker")

    def give_up(self, reason: str) -> None:
        if self.problem is None:
            self.problem, self.is_stuck = reason, True

    def close(self) -> None:
        """No rank will post any more: the workers finish."""
        while self._unjudged:
            self._judge_oldest()
        self._closed = True
        for mailbox in self._mailboxes:
            mailbox.close()

    def conclude(self) -> None:
        """All events of the nodes were read."""
        for found in self._judge.conclude():
            self._tell(found)

    def _judge_oldest(self) -> None:
        iteration, pieces, tasks = self._unjudged.popleft()
        if tasks is not None:
            self._tell(expected_of_tasks(iteration, tasks, pieces))
            return
        for found in self._judge.posted(iteration, pieces):
            self._tell(found)

    def _post(self) -> None:
        while self._unposted and all(mailbox.has_room for mailbox in self._mailboxes):
            pieces, tasks = self._unposted.popleft()
            each_task = [None] * len(pieces) if tasks is None else tasks.of
            for memory, mailbox, piece, task in zip(self._memories, self._mailboxes, pieces, each_task, strict=True):
                mailbox.post(_place(memory, piece), len(piece), task)

    def _fail(self, record: Record, reason: str) -> None:
        self.problem = f"the network failed {moment(record.t)} after it came up: {reason}"


def _place(memory: Gradient, piece: Gradient) -> int:
    """First element of a piece in its rank's memory."""
    base, at = (np.asarray(array).__array_interface__["data"][0] for array in (memory, piece))
    return int(at - base) // memory.itemsize
