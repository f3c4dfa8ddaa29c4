"""What windows of packets have in common: the packets of one tensor after the other, and a timer for each that left."""

from __future__ import annotations

from array import array
from typing import Any

import cython

if not cython.compiled:
    from workloads.heap import heap_first, heap_free, heap_new, heap_pop, heap_push, heap_tie
    from workloads.kernels import NEVER

__all__ = ["NOTHING", "PacketWindow"]

_NOTHING = NOTHING = -(1 << 62)
"""no packet, and no time: below all of them, also those that a forged sequence number or a slow clock leads to"""
_NUMBERS = "q"
"""type code of arrays with 64 bits"""


class PacketWindow:
    """Packets are numbered from 0 over the whole life of the job, and `window` of them are outstanding at most. Times
    in ns."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.first = self.end = 0
        """packets of the running tensor: first .. end - 1"""
        self.missing = 0
        """packets of it that have no result"""
        self.progress_at = 0
        """time when a result last came, or a packet last left for the first time"""
        self._deadline: Any = array(_NUMBERS, [_NOTHING]) * window
        self._first_at: Any = array(_NUMBERS, [0]) * window
        self._tries: Any = array(_NUMBERS, [0]) * window
        """how often the packet of each index left"""
        self._timers: Any = heap_new()
        """heap of (deadline, packet); timers that are no longer valid are skipped"""
        self._timer_count = 0

    def __dealloc__(self) -> None:
        heap_free(self._timers)

    @property
    def complete(self) -> bool:
        """Every packet of the tensor has its result."""
        return self.missing == 0

    def start(self, packets: int) -> None:
        """The next tensor, when the last one is complete."""
        self.first, self.end = self.end, self.end + packets
        self.missing = packets

    def release(self) -> None:
        """More packets may leave than before."""

    def left(self, packet: int, now: int) -> int:
        """The packet leaves now. Returns how often it left before."""
        raise NotImplementedError

    def is_outstanding(self, packet: int) -> bool:
        """Whether it left and its result is missing. A result of any other packet is a forgery or a repetition."""
        raise NotImplementedError

    def settle(self, packet: int, now: int) -> None:
        """The result of an outstanding packet came. Raises ValueError for any other packet: its caller asks
        `is_outstanding` first."""
        raise NotImplementedError

    def expire(self, now: int) -> int:
        """Let what waited too long leave again; how many packets that are."""
        raise NotImplementedError

    def get_timer(self) -> int | None:
        due = self.due()
        return None if due == NEVER else due

    def due(self) -> int:
        """As `get_timer`; NEVER: none."""
        while self._timer_count:
            deadline = heap_first(self._timers)
            if self._is_armed(deadline, heap_tie(self._timers)):
                return deadline
            self._drop()
        return NEVER

    def _wait(self, packet: int, deadline: int) -> None:
        """For its result."""
        self._deadline[packet % self.window] = deadline
        if heap_push(self._timers, deadline, packet, 0, 0) < 0:
            raise MemoryError("no memory for timers")
        self._timer_count += 1

    def _expired(self) -> int:
        """The packet of the first timer, which is over."""
        packet = heap_tie(self._timers)
        self._drop()
        self._deadline[packet % self.window] = _NOTHING
        return packet

    def _drop(self) -> None:
        """The first timer."""
        heap_pop(self._timers)
        self._timer_count -= 1

    def _is_armed(self, deadline: int, packet: int) -> bool:
        return self._is_missing(packet) and self._deadline[packet % self.window] == deadline

    def _is_missing(self, packet: int) -> bool:
        """Whether its result is missing; it may not have left yet."""
        raise NotImplementedError
