"""A plain switch on the compiled path."""

from __future__ import annotations

from collections import deque

from switch_nodes.forwarding.macs import MacTable
from workloads.machine import Event
from workloads.quick import Quick

__all__ = ["Forwarder"]


class Forwarder(Quick):
    """What `ForwardProgram` does with frames. `counters` and `events` are the program's."""

    def __init__(self, macs: MacTable, counters: dict[str, int], events: deque[Event]) -> None:
        Quick.__init__(self, events, deque())
        self._macs, self._counters = macs, counters

    def take(self, port: int, frame: bytes, now: int) -> None:
        ways, verdict = self._macs.ways(port, frame), self._macs.verdict
        self._counters[verdict] = self._counters.get(verdict, 0) + 1
        for out in ways:
            self.outbox.append((out, frame))
