"""What the application shares with the code that runs it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence

from testbed.steering.controller import Controller
from testbed.steering.readings import TableReading, read_table
from workloads.machine import Event

__all__ = ["OpenFlowSession"]


class OpenFlowSession:
    """`tell` and `on_reading` are called from the library's threads; they must not block."""

    def __init__(
        self,
        controller: Controller,
        tell: Callable[[Event], None],
        on_reading: Callable[[TableReading], None] = lambda reading: None,
        listeners: Sequence[socket.socket] = (),
    ) -> None:
        self.controller, self.tell, self._on_reading = controller, tell, on_reading
        self.listeners = listeners
        """addresses where switches connect, besides the library's own address"""
        self.failure: Exception | None = None
        self.ask_counters: Callable[[], None] = lambda: None
        """readings of all connected switches follow; set by the application"""

    def fail(self, error: Exception) -> None:
        """Records an error that should not happen."""
        self.failure = self.failure or error

    def on_counters(self, datapath: int, counters: Mapping[int, tuple[int, int]]) -> None:
        """By cookie: (packets, bytes)."""
        switch = self.controller.fabric.by_datapath(datapath)
        if switch is not None:
            self._on_reading(read_table(self.controller, switch, counters))
