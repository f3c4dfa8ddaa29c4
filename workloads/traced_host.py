"""A worker of datagrams next to a trace, as one Machine. Sums of all ranks travel in datagrams, everything else over RC
connections.

Rules of this file
- The trace begins sums when the nodes before them have ended. The worker makes them in the order that all ranks share
  (`workloads.traces.sums`).
- Both get every frame: to one of them it is no packet.
- Iterations are those of the trace. Of the worker's iterations, each is a phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from workloads.errors import InternalError
from workloads.events import CollectiveCompleted, CollectiveStarted, PhaseCompleted, PhaseStarted, WorkerFinished
from workloads.gradients.base import GradientSource
from workloads.machine import Buffer, Event, HostMachine
from workloads.traces.program import TracedConfig
from workloads.traces.sums import HandsOver, SumsInTurn
from workloads.worker import WorkerMachine

__all__ = ["HostWithTrace", "with_trace"]


def with_trace(
    trace: TracedConfig, source: GradientSource, make: Callable[[GradientSource], HostMachine], start_ns: int
) -> HostWithTrace:
    """`make`: the worker, from the sums as its iterations."""
    machine = WorkerMachine(trace, source, start_ns=start_ns)
    steps = machine.collective
    if not isinstance(steps, HandsOver):
        raise InternalError("a trace that no protocol of traces runs")
    sums = SumsInTurn(trace.communications, source)
    steps.hand_sums_to(sums)
    return HostWithTrace(make(sums), machine, sums, trace)


class HostWithTrace:
    """A HostMachine."""

    def __init__(self, own: HostMachine, trace: WorkerMachine, sums: SumsInTurn, config: TracedConfig) -> None:
        self._own, self._trace, self._sums = own, trace, sums
        self._communications = config.communications
        self._finished: WorkerFinished | None = None
        """of the trace"""
        self.finished = False
        """all iterations are complete, and the worker knows it"""

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._own.receive_frame(port, frame, now)
        self._trace.receive_frame(port, frame, now)
        self._hand_over(now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        yield from self._own.frames_to_send(now)
        yield from self._trace.frames_to_send(now)

    def get_timer(self) -> int | None:
        own, trace = self._own.get_timer(), self._trace.get_timer()
        return trace if own is None or (trace is not None and trace < own) else own

    def handle_timer(self, now: int) -> None:
        for machine in (self._own, self._trace):
            timer = machine.get_timer()
            if timer is not None and timer <= now:
                machine.handle_timer(now)
        self._hand_over(now)

    def next_event(self) -> Event | None:
        while (event := self._own.next_event()) is not None:
            seen = self._of_trace(event)
            if seen is not None:
                return seen
        event = self._trace.next_event()
        if not isinstance(event, WorkerFinished):
            return event
        self._finished = event  # for when the worker has finished, too
        return self._trace.next_event()

    def finish(self, now: int) -> None:
        self._own.finish(now)
        self._trace.finish(now)

    def _hand_over(self, now: int) -> None:
        """To the trace the sums that are there; to the worker that there are no more."""
        if self._sums.over:
            self._trace.handle_timer(now)
        if self._trace.finished:
            self._sums.end()

    def _of_trace(self, event: Event) -> Event | None:
        """An event of the worker as one of the trace. None: it means nothing there."""
        if isinstance(event, CollectiveStarted):
            iteration, number = self._sums.number_of(event.iteration)
            return PhaseStarted(iteration, self._phase(number), event.bytes, event.messages)
        if isinstance(event, CollectiveCompleted):
            iteration, number = self._sums.number_of(event.iteration)
            return PhaseCompleted(iteration, self._phase(number))
        if isinstance(event, WorkerFinished):
            self.finished = True
            return self._finished
        return event

    def _phase(self, number: int) -> str:
        each = self._communications[number]
        return f"{each.operation}_{each.number}"
