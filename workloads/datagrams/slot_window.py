"""Which packets of a SwitchML worker are outstanding, in which slot and version, and when they are sent again.

Source: the worker of the public implementation (`p4lang/p4app-switchML`), reconstructed in the protocol text, section
2.2: W packets outstanding; packet i of a job uses i mod 2W as (version, index): index i mod W, version the higher half.
The count goes on across tensors, so that the first packets of a tensor use the versions that follow the last ones of
the tensor before. A result lets the packet W later go, in the same index and the other version.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

import cython

from workloads.datagrams.retransmission import RetransmissionTimer

if not cython.compiled:
    from workloads.heap import heap_first, heap_free, heap_new, heap_pop, heap_push, heap_tie
    from workloads.kernels import NEVER

__all__ = ["SlotWindow"]

_NOTHING = -(1 << 62)
"""no packet, and no time: below all of them, also those that a forged sequence number or a slow clock leads to"""
_NUMBERS = "q"
"""of an array: 64 bits"""


class SlotWindow:
    """Packets are numbered from 0 over the whole life of the job. Times in ns. `seed`: of the timer."""

    def __init__(self, window: int, rto_ns: int, seed: int | None = None) -> None:
        self.window, self._timer = window, RetransmissionTimer(rto_ns, seed)
        self.first = self.end = 0
        """packets of the running tensor: first .. end - 1"""
        self.missing = 0
        """packets of it that have no result"""
        self.progress_at = 0
        """when a result last came, or a packet last left for the first time"""
        self._outstanding = array(_NUMBERS, [_NOTHING]) * window
        """packet without a result of each index; it may not have left yet"""
        self._deadline = array(_NUMBERS, [_NOTHING]) * window
        self._first_at = array(_NUMBERS, [0]) * window
        self._tries = array(_NUMBERS, [0]) * window
        """how often the outstanding packet of each index left"""
        self._ready: deque[int] = deque()
        self._held: list[int] = []
        self._timers: Any = heap_new()
        """by (deadline, packet); those that are not valid any more are passed over"""
        self._timer_count = 0

    def __dealloc__(self) -> None:
        heap_free(self._timers)

    @property
    def complete(self) -> bool:
        """Every packet of the tensor has its result."""
        return self.missing == 0

    def index_of(self, packet: int) -> int:
        return packet % self.window

    def version_of(self, packet: int) -> int:
        return packet % (2 * self.window) // self.window

    def start(self, packets: int) -> None:
        """The next tensor, when the last one is complete."""
        self.first, self.end = self.end, self.end + packets
        self.missing = packets
        for packet in range(self.first, min(self.first + self.window, self.end)):
            self._let_go(packet)

    def take_ready(self, may_leave: Callable[[int], bool] | None = None) -> int | None:
        """The next packet that leaves; `left` follows. None: none. A packet that may not leave is asked about again
        after `release`."""
        while (packet := self.next_ready()) >= 0:
            if may_leave is None or may_leave(packet):
                return packet
            self.hold(packet)
        return None

    def next_ready(self) -> int:
        """As `take_ready`; below 0: none."""
        while self._ready:
            packet = self._ready.popleft()
            if self._is_missing(packet):  # its result may have come while a repetition waited
                return packet
        return _NOTHING

    def hold(self, packet: int) -> None:
        """It may not leave before `release`."""
        self._held.append(packet)

    def release(self) -> None:
        """More packets may leave than before."""
        self._ready.extend(self._held)
        self._held.clear()

    def left(self, packet: int, now: int) -> int:
        """It leaves now; how often it did before."""
        index = packet % self.window
        before = self._tries[index]
        self._tries[index] = before + 1
        if not before:
            self._first_at[index] = self.progress_at = now
        deadline = now + self._timer.wait(before)
        self._deadline[index] = deadline
        if heap_push(self._timers, deadline, packet, 0, 0) < 0:
            raise MemoryError("no memory for timers")
        self._timer_count += 1
        return before

    def is_outstanding(self, packet: int) -> bool:
        """It left, and its result is missing. A result of any other packet is a forgery or a repetition."""
        return self._is_missing(packet) and self._tries[packet % self.window] > 0

    def _is_missing(self, packet: int) -> bool:
        return self._outstanding[packet % self.window] == packet

    def settle(self, packet: int, now: int) -> None:
        """The result of an outstanding packet came. Raises ValueError for any other packet: its caller asks
        `is_outstanding` first."""
        if not self.is_outstanding(packet):
            raise ValueError(f"packet {packet} is not outstanding")
        index = packet % self.window
        self._outstanding[index] = _NOTHING
        self.missing -= 1
        self.progress_at = now
        self._timer.measure(now - self._first_at[index])
        if packet + self.window < self.end:
            self._let_go(packet + self.window)

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

    def expire(self, now: int) -> int:
        """Let what waited too long leave again; how many packets that are."""
        expired = 0
        while self.due() <= now and self._timer_count:
            packet = heap_tie(self._timers)
            self._drop()
            self._ready.append(packet)
            self._deadline[packet % self.window] = _NOTHING
            expired += 1
        return expired

    def _drop(self) -> None:
        """The first timer."""
        heap_pop(self._timers)
        self._timer_count -= 1

    def _is_armed(self, deadline: int, packet: int) -> bool:
        index = packet % self.window
        return self._is_missing(packet) and self._deadline[index] == deadline

    def _let_go(self, packet: int) -> None:
        index = packet % self.window
        self._outstanding[index], self._tries[index] = packet, 0
        self._ready.append(packet)
