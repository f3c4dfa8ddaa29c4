"""All-reduces over a simulated network. Its virtual time stands still while the ranks compute: it holds the time that
sums take on the scenario's links, and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from testbed.captures.capture import PcapngTap
from testbed.history import Record
from testbed.history.events import NodeExited
from testbed.history.records import make_record
from testbed.history.training_events import AllReduceCarried
from testbed.plan import Plan
from testbed.terminal.numbers import moment
from testbed.train.expected import piece_judge
from testbed.train.network import IDLE_TURN_S, Gradient, SumArrived, Tasks, cut
from testbed.train.planning import has_one_size
from testbed.train.tasks import expected_of_tasks, posted_event
from testbed.worlds.simulated.world import Simulation
from workloads.events import WorkerFailed
from workloads.gradients.external import ExternalSource, PostedPieces, attach_sources
from workloads.machine import Event

__all__ = ["SimulatedNetwork"]


class SimulatedNetwork:
    """A Network. `plan`: as `training_plan` makes it; `taps`: of switches, by name, closed with this."""

    def __init__(
        self, plan: Plan, on_record: Callable[[Record], None], taps: Mapping[str, PcapngTap] | None = None
    ) -> None:
        self._plan, self._on_record, self._taps = plan, on_record, taps or {}
        self._elements = plan.workers[0].workload.elements
        self._mailboxes = [PostedPieces() for _ in plan.workers]
        attach_sources(
            {
                rank: ExternalSource(mailbox, self._elements, fill_up=has_one_size(plan))
                for rank, mailbox in enumerate(self._mailboxes)
            }
        )
        self._failed: list[str] = []
        self._workers = {worker.name for worker in plan.workers}
        self._simulation = Simulation(plan, self._hear, taps)
        self._judge = piece_judge(plan)
        self._waiting: deque[tuple[int, Sequence[Gradient], Sequence[Gradient], Tasks | None]] = deque()
        self.problem: str | None = None
        self.iterations = 0
        """pieces that were posted so far"""
        self._closing = False
        self._simulation.start()

    @property
    def turn_s(self) -> float:
        return 0.0 if self._waiting and self.problem is None else IDLE_TURN_S

    @property
    def now(self) -> int:
        """Virtual time, ns."""
        return self._simulation.agenda.now

    @property
    def captures(self) -> tuple[Path, ...]:
        """Files of the taps."""
        return tuple(tap.path for tap in self._taps.values())

    @property
    def event_loop(self) -> str:
        """As `Simulation.event_loop`."""
        return self._simulation.event_loop

    def carry(
        self, number: int, gradients: Sequence[Gradient], totals: Sequence[Gradient], tasks: Tasks | None = None
    ) -> None:
        self._waiting.append((number, gradients, totals, tasks))

    def give_up(self, reason: str) -> None:
        self.problem = self.problem or self._story(reason)

    def work(self) -> Iterator[SumArrived]:
        """One collective, from its first packet to its last result."""
        if not self._waiting or self.problem is not None:
            return
        number, gradients, totals, tasks = self._waiting.popleft()
        began, first = self.now, self.iterations
        if tasks is None:
            for pieces, targets in zip(cut(gradients, self._elements), cut(totals, self._elements), strict=True):
                for found in self._judge.posted(self.iterations, pieces):
                    self._tell(found)
                self.iterations += 1
                for mailbox, piece, target in zip(self._mailboxes, pieces, targets, strict=True):
                    mailbox.post(piece, target)
        else:
            self._tell(expected_of_tasks(self.iterations, tasks, gradients))
            self.iterations += 1
            for mailbox, piece, target, task in zip(self._mailboxes, gradients, totals, tasks.of, strict=True):
                mailbox.post(piece, target, task)
        self._tell(posted_event(number, gradients, first, self.iterations - first, tasks))
        self._nudge()
        limit = began + self._plan.scenario.time_limit_ns
        if not self._simulation.advance(limit, self._goes_on):
            self.problem = self._story(
                f"no sum came within {self._plan.scenario.time_limit_ns / 1e9:g} s of virtual time"
            )
        elif self._failed:
            self.problem = self._story(self._failed[0])
        else:
            took = self.now - began
            self._tell(AllReduceCarried(number, took))
            yield SumArrived(number, took)

    def close(self) -> None:
        """No rank will post any more: the workers finish, and all nodes report what they counted."""
        self._closing = True
        for mailbox in self._mailboxes:
            mailbox.closed = True
        self._nudge()
        if self.problem is None:
            self._simulation.advance(self.now + self._plan.scenario.time_limit_ns, lambda: self._simulation.unfinished)
        self._simulation.finish()
        for found in self._judge.conclude():
            self._tell(found)
        for tap in self._taps.values():
            tap.close()

    def _goes_on(self) -> bool:
        return not self._failed and any(mailbox.delivered < mailbox.posted for mailbox in self._mailboxes)

    def _nudge(self) -> None:
        for worker in self._plan.workers:
            self._simulation.nudge(worker.name)

    def _story(self, reason: str) -> str:
        return f"the network failed at {moment(self.now)} of virtual time: {reason}"

    def _hear(self, record: Record) -> None:
        match record.event:
            case WorkerFailed(reason=reason, detail=detail):
                self._failed.append(f"{record.node} gave up with {reason}: {detail}")
            case NodeExited() if not self._closing and record.node in self._workers:
                self._failed.append(f"{record.node} died: no rank can go on without its worker")
        self._on_record(record)
        for found in self._judge.hear(record):
            self._tell(found)

    def _tell(self, event: Event) -> None:
        self._on_record(make_record(self.now, "world", event))
