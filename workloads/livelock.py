"""Detects, by counting, a Machine that acts for ever without progress, and names it.

The code that drives a Machine calls it until it wants nothing more. A Machine that always wants something would stop
time. The limits are far above what a Machine has reason to do, and low enough to be reached within seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from workloads.errors import InternalError
from workloads.machine import Event, Machine

__all__ = ["MOST_AT_ONCE", "MOST_TOLD_BY_HOST", "Livelock", "TurnWatch", "WakeWatch"]

MOST_AT_ONCE = 1 << 18
"""frames or events that a switch gives out in one go; frames of a host for its further ports"""
MOST_TOLD_BY_HOST = 1 << 21
"""events that a host reports in one go: a server reports a sum for each packet of a gradient"""
_MOST_WAKEUPS = 10_000
"""most wake-ups at one point of time"""
_MOST_IN_VAIN = 20_000
"""wake-ups in a row that changed nothing"""
_PAUSE_NS = 1_000
"""pause that ends a row of wake-ups"""


class Livelock(InternalError):
    """A node does not come to an end. Where its Machine is the user's code, the world blames that."""

    def __init__(self, node: str, what: str, *, is_host: bool) -> None:
        self.node, self.what, self.is_host = node, what, is_host
        super().__init__(f"{'host' if is_host else 'switch'} {node} does not come to an end: {what}")


class WakeWatch:
    """Counts wake-ups of one Machine."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._at_once = self._in_vain = 0
        self._done = -1

    def woke(self, now: int, done: int) -> str:
        """The Machine handles a timer. `done`: how many frames and events it has given out so far. What is wrong;
        empty: nothing."""
        gap = None if self._last is None else now - self._last
        self._last = now
        self._at_once = self._at_once + 1 if gap == 0 else 1
        if gap is None or gap > _PAUSE_NS or done != self._done:
            self._in_vain, self._done = 0, done
        self._in_vain += 1
        if self._at_once >= _MOST_WAKEUPS:
            return f"its timer expired {self._at_once:,} times at {now} ns"
        if self._in_vain >= _MOST_IN_VAIN:
            return f"its timer expired {self._in_vain:,} times in a row up to {now} ns, and nothing came of it"
        return ""


class TurnWatch:
    """A watch on one node whose loop turns in real time."""

    def __init__(self, name: str, *, is_host: bool) -> None:
        self._name, self._is_host = name, is_host
        self._told = self._in_vain = 0

    def events(self, machine: Machine) -> Iterator[Event]:
        """All that the Machine has to report. Raises Livelock."""
        for self._told in range(MOST_TOLD_BY_HOST):
            event = machine.next_event()
            if event is None:
                return
            yield event
        raise Livelock(self._name, f"it reported {MOST_TOLD_BY_HOST:,} events in a row", is_host=self._is_host)

    def ended(self, timer: int | None, now: int, frames: int) -> None:
        """A turn that handled `frames` frames has ended. Raises Livelock when too many turns in a row changed
        nothing."""
        if timer is None or timer > now or frames or self._told:
            self._in_vain = 0
            return
        self._in_vain += 1
        if self._in_vain >= _MOST_WAKEUPS:
            what = f"its timer expired {self._in_vain:,} times in a row, and nothing came of it"
            raise Livelock(self._name, what, is_host=self._is_host)
