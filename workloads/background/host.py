"""A host as a Machine that carries background flows, with a worker or without one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from workloads.background.udp import UdpSink, UdpSource, datagrams
from workloads.machine import BatchMachine, Buffer, Event, FrameBatch, Machine

__all__ = ["TenantHost", "with_flows"]

_PORT = 0


class _Worker(Machine, Protocol):
    def finish(self, now: int) -> None: ...


def with_flows(worker: _Worker | None, sources: Sequence[UdpSource], sinks: Sequence[UdpSink]) -> _Worker:
    """The worker itself where no flow begins or ends."""
    return TenantHost(worker, sources, sinks) if worker is None or sources or sinks else worker


class TenantHost:
    """Datagrams whose time has come leave before the worker's frames. The worker gets the rest of the link. This models
    a flow of a constant rate next to a NIC that sends as fast as it can."""

    def __init__(self, worker: _Worker | None, sources: Sequence[UdpSource], sinks: Sequence[UdpSink]) -> None:
        self._worker, self._sources, self._sinks = worker, tuple(sources), tuple(sinks)
        self._fast: BatchMachine | None = worker if isinstance(worker, BatchMachine) else None
        self._events: deque[Event] = deque()

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        if not any(sink.receive(frame, now) for sink in self._sinks) and self._worker is not None:
            self._worker.receive_frame(port, frame, now)

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        """A worker gets the rows of the flows too: to it they are no RoCE packets."""
        for sink in self._sinks:
            sink.receive_rows(batch, now)
        if self._fast is not None:
            self._fast.receive_batch(batch, now)
        elif self._worker is not None:
            for row, port in enumerate(batch.ports[: batch.count].tolist()):
                self._worker.receive_frame(port, batch.row(row), now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        for source in self._sources:
            for frame in datagrams(source, now):
                yield _PORT, frame
        if self._worker is not None:
            yield from self._worker.frames_to_send(now)

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        for source in self._sources:
            while batch.count < batch.capacity and (frame := source.next_frame(now)) is not None:
                batch.append(_PORT, frame)
        if self._fast is not None:
            self._fast.fill_batch(batch, now)
        elif self._worker is not None:
            self._fill_by_frames(self._worker.frames_to_send(now), batch)

    @staticmethod
    def _fill_by_frames(frames: Iterable[tuple[int, Buffer]], batch: FrameBatch) -> None:
        rest = iter(frames)
        while batch.count < batch.capacity and (found := next(rest, None)) is not None:
            batch.append(*found)

    def get_timer(self) -> int | None:
        """A datagram whose time has come and that did not leave waits for the link, not for time."""
        times = [source.wakes_at for source in self._sources]
        if self._worker is not None:
            times.append(self._worker.get_timer())
        return min((time for time in times if time is not None), default=None)

    def handle_timer(self, now: int) -> None:
        for source in self._sources:
            source.woken(now)
        if self._worker is not None:
            timer = self._worker.get_timer()
            if timer is not None and timer <= now:
                self._worker.handle_timer(now)

    def next_event(self) -> Event | None:
        event = self._worker.next_event() if self._worker is not None else None
        return event if event is not None or not self._events else self._events.popleft()

    def finish(self, now: int) -> None:
        if self._worker is not None:
            self._worker.finish(now)
        self._events += [source.finished() for source in self._sources]
        self._events += [sink.finished() for sink in self._sinks]
