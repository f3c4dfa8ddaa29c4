"""Small Machines to drive a data plane with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workloads.machine import Buffer, Event, FrameBatch

__all__ = ["BatchForwarder", "Forwarder", "Rang"]


@dataclass(frozen=True, slots=True)
class Rang(Event):
    """A timer was served."""

    due: int
    at: int


class Forwarder:
    """Frame by frame: what comes in on a port goes out on others, unchanged. `routes[port]` are the ports it leaves
    by."""

    def __init__(self, routes: Mapping[int, tuple[int, ...]]) -> None:
        self.routes = routes
        self.queue: deque[tuple[int, bytes]] = deque()
        self.received: list[tuple[int, int, bytes]] = []
        self.timers: list[int] = []
        self.events: deque[Event] = deque()
        self.timer_calls = 0

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        copy = bytes(frame)
        self.received.append((now, port, copy))
        self.queue.extend((target, copy) for target in self.routes.get(port, ()))

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        while self.queue:
            yield self.queue.popleft()

    def get_timer(self) -> int | None:
        return min(self.timers, default=None)

    def handle_timer(self, now: int) -> None:
        self.timer_calls += 1
        for due in sorted(due for due in self.timers if due <= now):
            self.timers.remove(due)
            self.events.append(Rang(due, now))

    def next_event(self) -> Event | None:
        return self.events.popleft() if self.events else None


class BatchForwarder(Forwarder):
    """The same, batch by batch."""

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        for row in range(batch.count):
            self.receive_frame(int(batch.ports[row]), batch.row(row), now)

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        while self.queue and batch.count < batch.capacity:
            batch.append(*self.queue.popleft())
