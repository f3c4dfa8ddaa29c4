"""A Machine under watch: rules of the hunt's own that need every frame, in the order in which its node saw and sent it.

Only traced schedules are watched: there a node reports, step by step, how it handles a frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from testbed.worlds.simulated.finishing import FinishingMachine
from workloads.machine import Buffer, Event

__all__ = ["Tell", "Watch", "WatchedMachine"]

Tell = Callable[[str, str], None]
"""(rule, what broke it)"""


class Watch(Protocol):
    """An observer of a Machine. Its times are those that the Machine gets."""

    hears_sent: bool
    """It looks at the frames that leave. False: `left` and `drained` are not called."""

    def came(self, frame: bytes, now: int) -> None:
        """A frame comes: the Machine has not seen it yet."""
        ...

    def told(self, event: Event) -> None:
        """The Machine reported an event, directly after what caused it."""
        ...

    def handled(self) -> None:
        """The Machine is done with the frame that came, and has reported all its events."""
        ...

    def left(self, frame: bytes, now: int) -> None: ...

    def drained(self) -> None:
        """The Machine was asked for a frame, and has no more."""
        ...

    def woke(self, now: int) -> None:
        """The Machine acts on its timers."""
        ...


class WatchedMachine:
    """A Machine that does what `machine` does."""

    def __init__(self, machine: FinishingMachine, watch: Watch) -> None:
        self.machine, self._watch = machine, watch
        self._events: deque[Event] = deque()
        self.get_timer = machine.get_timer
        self.frames_to_send = self._frames_to_send if watch.hears_sent else machine.frames_to_send

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._watch.came(bytes(frame), now)
        self.machine.receive_frame(port, frame, now)
        self._hear()
        self._watch.handled()

    def _frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        for port, frame in self.machine.frames_to_send(now):
            self._watch.left(bytes(frame), now)
            yield port, frame
        self._watch.drained()

    def handle_timer(self, now: int) -> None:
        self._watch.woke(now)
        self.machine.handle_timer(now)
        self._hear()

    def next_event(self) -> Event | None:
        self._hear()
        return self._events.popleft() if self._events else None

    def finish(self, now: int) -> None:
        self.machine.finish(now)

    def _hear(self) -> None:
        while (event := self.machine.next_event()) is not None:
            self._watch.told(event)
            self._events.append(event)
