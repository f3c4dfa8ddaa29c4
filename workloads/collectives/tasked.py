"""The collective of a job, and a mesh next to it for iterations that ask for another operation."""

from __future__ import annotations

from typing import Protocol

from workloads.collectives.base import Collective, Problem
from workloads.collectives.meshed import MeshCollective
from workloads.config import MeshTask, WorkerConfig
from workloads.errors import InternalError
from workloads.gradients.base import Vector
from workloads.machine import Event
from workloads.rc import ReceiveCompleted, SendCompleted
from workloads.transports.endpoint import Verbs

__all__ = ["TaskedCollective", "TaskedMesh"]


class _Tasks(Protocol):
    @property
    def iterations(self) -> int: ...

    def task(self, iteration: int) -> MeshTask | None: ...


class TaskedMesh(MeshCollective):
    """A mesh that runs all iterations, each with a task of its own."""

    def __init__(self, worker: WorkerConfig, endpoint: Verbs, tasks: _Tasks) -> None:
        super().__init__(worker, endpoint, worker.phases, tasks.iterations)
        self._tasks = tasks

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        task = self._tasks.task(iteration)
        if task is None:
            raise InternalError(f"iteration {iteration} is no operation of the mesh")
        self.task = task
        super().start(iteration, gradient, result, now)


class TaskedCollective:
    """A Collective. Iterations follow one another, whichever of the two runs them. Peers may be ahead: what they send
    waits in the slots of its connection. Raises as MeshCollective."""

    def __init__(self, collective: Collective, worker: WorkerConfig, endpoint: Verbs, tasks: _Tasks) -> None:
        self._collective, self._tasks = collective, tasks
        self._mesh = MeshCollective(worker, endpoint, worker.mesh, tasks.iterations)
        self._both: tuple[Collective, Collective] = (collective, self._mesh)

    @property
    def problem(self) -> Problem | None:
        return self._collective.problem or self._mesh.problem

    @property
    def idle(self) -> bool:
        return self._collective.idle and self._mesh.idle

    @property
    def reads_once(self) -> bool:
        return False

    @property
    def hears_acks_late(self) -> bool:
        return False

    def open(self, now: int) -> None:
        for each in self._both:
            each.open(now)

    def start(self, iteration: int, gradient: Vector, result: Vector, now: int) -> None:
        task = self._tasks.task(iteration)
        if task is None:
            self._collective.start(iteration, gradient, result, now)
        else:
            self._mesh.task = task
            self._mesh.start(iteration, gradient, result, now)

    def on_sent(self, completion: SendCompleted, now: int) -> None:
        self._of(completion.qpn).on_sent(completion, now)

    def on_received(self, completion: ReceiveCompleted, now: int) -> None:
        self._of(completion.qpn).on_received(completion, now)

    def get_timer(self) -> int | None:
        first, other = self._collective.get_timer(), self._mesh.get_timer()
        return other if first is None or (other is not None and other < first) else first

    def handle_timer(self, now: int) -> None:
        for each in self._both:
            each.handle_timer(now)

    def next_event(self) -> Event | None:
        return self._collective.next_event() or self._mesh.next_event()

    def _of(self, qpn: int) -> Collective:
        return self._mesh if self._mesh.carries(qpn) else self._collective
