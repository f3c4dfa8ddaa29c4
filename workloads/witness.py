"""A host's Machine from the user's own file: the digests of its results are computed here, from its buffer."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import replace
from typing import Any

from workloads.events import CollectiveCompleted
from workloads.machine import Event

__all__ = ["Witnessed"]


class Witnessed:
    """Does what `machine` does. Where that offers `result`, the buffer with the elements of its last result, the digest
    that it reports is replaced by that of the bytes that are there."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self._events: deque[Event] = deque()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.machine, name)

    def handle_timer(self, now: int) -> None:
        self.machine.handle_timer(now)
        self._hear()  # the buffer is that of the next iteration soon

    def next_event(self) -> Event | None:
        self._hear()
        return self._events.popleft() if self._events else None

    def _hear(self) -> None:
        while (event := self.machine.next_event()) is not None:
            self._events.append(self._digested(event) if isinstance(event, CollectiveCompleted) else event)

    def _digested(self, event: CollectiveCompleted) -> CollectiveCompleted:
        result = getattr(self.machine, "result", None)
        if result is None:
            return event
        return replace(event, sha256=hashlib.sha256(memoryview(result).cast("B")).hexdigest())
