"""A worker of datagrams with a mesh next to it, as one Machine. In a training, sums of all ranks travel in datagrams,
and all other collectives over RC connections.

Rules of this file
- The iterations of the source follow one another. Each belongs to the worker or to the mesh (`TaskedSource.task`).
- Each of the two counts its own iterations from 0. Events have the numbers of the source.
- Both get every frame: to one of them it is no packet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from workloads.config import MeshTask, WorkerConfig
from workloads.errors import InternalError
from workloads.events import CollectiveCompleted, CollectiveStarted, WorkerFinished
from workloads.gradients.base import GradientSource, TaskedSource, Vector
from workloads.machine import Buffer, Event, HostMachine
from workloads.traced_host import HostWithTrace, with_trace
from workloads.traces.program import TracedConfig
from workloads.worker import WorkerMachine

__all__ = ["HostWithMesh", "with_mesh"]

_ENDLESS = 1 << 40


class _Turns:
    """Whose turn it is: the iterations of a source, in their order."""

    def __init__(self, source: TaskedSource) -> None:
        self.source = source
        self.next = 0
        """iteration that is running, or comes next"""

    @property
    def is_over(self) -> bool:
        return self.next >= self.source.iterations


class _Side:
    """A TaskedSource: the iterations that are operations of the mesh, or those that are not."""

    def __init__(self, turns: _Turns, *, of_mesh: bool) -> None:
        self._turns, self._of_mesh = turns, of_mesh
        self.elements, self.dtype, self.poll_ns = turns.source.elements, turns.source.dtype, turns.source.poll_ns
        self.numbers: list[int] = []
        """in the source, of each iteration that began"""

    @property
    def iterations(self) -> int:
        return len(self.numbers) if self._turns.is_over else _ENDLESS

    def is_ready(self, iteration: int) -> bool:
        turns = self._turns
        if iteration != len(self.numbers) or not turns.source.is_ready(turns.next):
            return False
        return (turns.source.task(turns.next) is not None) == self._of_mesh

    def gradient(self, iteration: int) -> Vector:
        if iteration == len(self.numbers):
            self.numbers.append(self._turns.next)
        return self._turns.source.gradient(self.numbers[iteration])

    def task(self, iteration: int) -> MeshTask | None:
        return self._turns.source.task(self.numbers[iteration])

    def apply(self, iteration: int, total: Vector) -> Any:
        progress = self._turns.source.apply(self.numbers[iteration], total)
        self._turns.next += 1
        return progress

    def reset(self) -> None:
        self._turns.source.reset()


def with_mesh(
    mesh: WorkerConfig, source: GradientSource, make: Callable[[GradientSource], HostMachine], start_ns: int
) -> HostWithMesh | HostWithTrace:
    """`make`: the worker, from its part of the iterations. `mesh`: also a trace, which has the other connections that
    it needs. Raises InternalError for a mesh and a source without tasks."""
    if isinstance(mesh, TracedConfig):
        return with_trace(mesh, source, make, start_ns)
    if not isinstance(source, TaskedSource):
        raise InternalError("a mesh next to a worker, and no iteration is one of the mesh")
    turns = _Turns(source)
    own, other = _Side(turns, of_mesh=False), _Side(turns, of_mesh=True)
    return HostWithMesh(make(own), own.numbers, WorkerMachine(mesh, other, start_ns=start_ns), other.numbers)


class HostWithMesh:
    """A HostMachine. `own_numbers`, `mesh_numbers`: in the source, of the iterations of each."""

    def __init__(self, own: HostMachine, own_numbers: list[int], mesh: WorkerMachine, mesh_numbers: list[int]) -> None:
        self._both: tuple[tuple[HostMachine, list[int]], ...] = ((own, own_numbers), (mesh, mesh_numbers))
        self._ended = 0
        """of the two"""

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        for machine, _ in self._both:
            machine.receive_frame(port, frame, now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        for machine, _ in self._both:
            yield from machine.frames_to_send(now)

    def get_timer(self) -> int | None:
        times = [machine.get_timer() for machine, _ in self._both]
        return min((time for time in times if time is not None), default=None)

    def handle_timer(self, now: int) -> None:
        for machine, _ in self._both:
            timer = machine.get_timer()
            if timer is not None and timer <= now:
                machine.handle_timer(now)

    def next_event(self) -> Event | None:
        for machine, numbers in self._both:
            while (event := machine.next_event()) is not None:
                numbered = self._numbered(event, numbers)
                if numbered is not None:
                    return numbered
        return None

    def finish(self, now: int) -> None:
        for machine, _ in self._both:
            machine.finish(now)

    @property
    def finished(self) -> bool:
        """All iterations are complete."""
        return self._ended == len(self._both)

    def _numbered(self, event: Event, numbers: list[int]) -> Event | None:
        """None: the other of the two has not ended yet."""
        if isinstance(event, (CollectiveStarted, CollectiveCompleted)):
            return replace(event, iteration=numbers[event.iteration])
        if not isinstance(event, WorkerFinished):
            return event
        self._ended += 1
        return WorkerFinished(sum(len(each) for _, each in self._both)) if self.finished else None
