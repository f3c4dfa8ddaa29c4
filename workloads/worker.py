"""One host's workload as a Machine: an endpoint, a collective on its queue pairs, and a source of gradients."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from workloads.collectives.base import Collective
from workloads.collectives.registry import create_collective
from workloads.collectives.tasked import TaskedCollective, TaskedMesh
from workloads.config import WorkerConfig
from workloads.events import QpFailed, WorkerFailed, WorkerFinished
from workloads.gradients import DrawnSource, GradientSource, TaskedSource, Vector, awaited, work_buffers
from workloads.machine import Buffer, Event, FrameBatch
from workloads.transports.endpoint import ReliableEndpoint
from workloads.transports.messages import SUCCESS, SendCompleted

__all__ = ["WorkerMachine"]


class WorkerMachine:
    """Runs the iterations of a job one after the other, and answers its peers for as long as it is driven.

    The traffic starts with the first call of `handle_timer`, at `start_ns`. The gradient of an iteration is ready
    before its start. A wake-up that computed the next one ends there, and the next wake-up starts it. So no event
    carries a time from before the computation. A source that awaits its gradients (`AwaitedSource`) is asked whenever
    the world looks at the timer. The timer expires at once when the gradient is there, and until then after the
    source's `poll_ns`. Memory: the source's gradient, one result of the same size, and the receive slots of the
    collective. Both are in one place where the collective reads each element before it writes it (`reads_once`).
    `endpoint`: without queue pairs yet, as that of a device; by default the configuration's transport makes it.

    Raises ScenarioError when the configuration names no collective, or one that cannot do the arithmetic.
    """

    def __init__(
        self,
        config: WorkerConfig,
        source: GradientSource,
        *,
        start_ns: int = 0,
        endpoint: ReliableEndpoint | None = None,
    ) -> None:
        self._config, self._source = config, source
        self._endpoint: ReliableEndpoint = config.transport.endpoint() if endpoint is None else endpoint
        self._endpoint.add_qps(config.queue_pairs)
        self._iteration = 0
        self._awaited = awaited(source)
        self._tasked = source if isinstance(source, TaskedSource) and (config.mesh or config.is_mesh) else None
        self._collective = self._make_collective()
        held = config.collective.kept
        self._result_length = source.elements if held is None else max(source.elements, sum(held))
        self._in_place = held is None and self._collective.reads_once
        self._room = np.empty(self._result_length, source.dtype)
        self._room.fill(0)  # has the pages now, not while the clock runs
        if self._awaited is None:
            self._prepare(0)
        else:
            self._take(np.empty(0, source.dtype))
        self._start_at: int | None = start_ns
        self._poll_at: int | None = None
        """awaiting a gradient: when to ask again"""
        self._awaits = False
        self._waits = True
        self._running = False
        self._events: deque[Event] = deque()
        self.finished = False
        """all iterations are complete"""
        self.failed = False
        """whether the job cannot continue"""
        if not config.collective.receive_late_ns:
            self._collective.open(start_ns)

    def _make_collective(self) -> Collective:
        config, source, tasked = self._config, self._source, self._tasked
        if tasked is not None and config.is_mesh:
            return TaskedMesh(config, self._endpoint, tasked)
        made = create_collective(config, self._endpoint, source.elements, source.iterations)
        return made if tasked is None else TaskedCollective(made, config, self._endpoint, tasked)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._endpoint.receive_frame(port, frame, now)
        self._advance(now)

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        self._endpoint.receive_batch(batch, now)
        self.after_news(now)

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        return self._endpoint.frames_to_send(now)

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        self._endpoint.fill_batch(batch, now)

    @property
    def result(self) -> Vector:
        """The result of the current iteration, or the last one until the next begins."""
        return self._result

    @property
    def collective(self) -> Collective:
        return self._collective

    @property
    def endpoint(self) -> ReliableEndpoint:
        """The endpoint, for compiled code that holds it. The code that received for it calls `after_news`."""
        return self._endpoint

    @property
    def hears_acks_late(self) -> bool:
        """An ACK of a posted message changes nothing but its event, until something else happens."""
        return self._collective.hears_acks_late

    def after_news(self, now: int) -> None:
        """The endpoint received something: continue with what it completed, if anything."""
        if self._endpoint.has_news:
            self._advance(now)

    def get_timer(self) -> int | None:
        first, timer = self.own_timer(), self._endpoint.get_timer()
        return first if timer is None or (first is not None and first < timer) else timer

    def own_timer(self) -> int | None:
        """As `get_timer`, without the endpoint's timer."""
        first, timer = self._start_at, self._collective.get_timer()
        if self._awaits:
            first = 0 if self._is_due() else self._poll_at
        return first if timer is None or (first is not None and first < timer) else timer

    def handle_timer(self, now: int) -> None:
        self._endpoint.handle_timer(now)
        self._collective.handle_timer(now)
        if self._start_at is not None and self._start_at <= now:
            self._start(now)
        elif self._awaits:
            self._await(now)
        self._advance(now)

    def next_event(self) -> Event | None:
        if not self._events:
            self._drain()  # sent frames cause events, too
        return self._events.popleft() if self._events else None

    def finish(self, now: int) -> None:
        """The world stops: queue the statistics of the queue pairs."""
        self._drain()
        self._events.extend(self._endpoint.statistics())

    def _start(self, now: int) -> None:
        if self._waits:
            self._waits = False
            if self._config.collective.receive_late_ns:
                self._collective.open(now)
            if self._config.workload.straggle_ns:
                self._start_at = now + self._config.workload.straggle_ns
                return
        self._start_at = None
        if self._awaited is not None:
            self._await(now)
        else:
            self._begin(now)

    def _await(self, now: int) -> None:
        """Begin when the gradient is there, end when there will be no more, or ask again later."""
        source = self._awaited
        assert source is not None
        self._awaits = True
        self._poll_at = now + source.poll_ns if source.poll_ns else None
        if not self._is_due():
            return
        self._awaits = False
        if self._iteration < source.iterations:
            self._take(source.gradient(self._iteration))
            self._begin(now)
        else:
            self._finish()

    def _is_due(self) -> bool:
        source = self._awaited
        return source is not None and (source.is_ready(self._iteration) or self._iteration >= source.iterations)

    def _prepare(self, iteration: int) -> None:
        """The gradient of the next iteration, in the memory of the result if collective and source allow it."""
        source = self._source
        if self._in_place and isinstance(source, DrawnSource):
            source.draw(iteration, 0, self._room)
            self._gradient = self._result = self._room
        else:
            self._take(source.gradient(iteration))

    def _take(self, gradient: Vector) -> None:
        """The gradient of the next iteration."""
        if len(gradient) > len(self._room):  # an operation of the mesh takes any length
            self._room = np.zeros(len(gradient), self._source.dtype)
        in_place = self._config.workload.in_place
        if in_place and self._tasked is not None and len(gradient):
            in_place = self._tasked.task(self._iteration) is None
        self._gradient, self._result = work_buffers(gradient, self._room, in_place)
        if self._result_length > self._source.elements:
            self._result = self._room

    def _begin(self, now: int) -> None:
        self._running = True
        self._collective.start(self._iteration, self._gradient, self._result, now)

    def _advance(self, now: int) -> None:
        """Hand completions to the collective, and continue when it has done an iteration."""
        endpoint, collective = self._endpoint, self._collective
        while (completion := endpoint.next_completion()) is not None:
            if self.failed:
                continue
            if not isinstance(completion, SendCompleted):
                collective.on_received(completion, now)
            elif completion.status == SUCCESS:
                collective.on_sent(completion, now)
        self._drain()
        if self._running and collective.idle and not self.failed:
            self._complete(now)

    def _drain(self) -> None:
        """Collect events: those of the endpoint first, since they made the others happen."""
        while (event := self._endpoint.next_event()) is not None:
            self._events.append(event)
            if isinstance(event, QpFailed):
                self._fail(event.status, event.detail)
        while (event := self._collective.next_event()) is not None:
            self._events.append(event)
        if self._collective.problem is not None:
            self._fail(*self._collective.problem)

    def _complete(self, now: int) -> None:
        self._running = False
        progress = self._source.apply(self._iteration, self._result)
        if progress is not None:
            self._events.append(progress)
        self._iteration += 1
        if self._awaited is not None:
            self._start_at = now + self._config.workload.straggle_ns
        elif self._iteration < self._source.iterations:
            self._prepare(self._iteration)
            self._start_at = now + self._config.workload.straggle_ns
        else:
            self._finish()

    def _finish(self) -> None:
        self.finished = True
        self._events.append(WorkerFinished(self._source.iterations))

    def _fail(self, reason: str, detail: str) -> None:
        if not self.failed and not self.finished:
            self.failed = True
            self._start_at, self._awaits = None, False
            self._events.append(WorkerFailed(reason, detail))
