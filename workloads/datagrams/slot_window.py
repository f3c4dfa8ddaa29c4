"""Which packets of a SwitchML worker are outstanding, in which slot and version, and when they are sent again.

Source: the worker of the public implementation (`p4lang/p4app-switchML`), reconstructed in the protocol text, section
2.2. W packets are outstanding. Packet i of a job uses i mod 2W as (version, index). The index is i mod W, and the
version is the higher half. The count goes on across tensors, so that the first packets of a tensor use the versions
that follow the last ones of the tensor before. A result lets the packet W later go, in the same index and the other
version.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

from workloads.datagrams.packet_window import NOTHING, PacketWindow
from workloads.datagrams.retransmission import RetransmissionTimer

__all__ = ["SlotWindow"]

_NOTHING = NOTHING
_NUMBERS = "q"
"""type code of arrays with 64 bits"""


class SlotWindow(PacketWindow):
    """`seed`: of the timer."""

    def __init__(self, window: int, rto_ns: int, seed: int | None = None) -> None:
        PacketWindow.__init__(self, window)
        self._timer = RetransmissionTimer(rto_ns, seed)
        self._outstanding: Any = array(_NUMBERS, [_NOTHING]) * window
        """packet without a result of each index; it may not have left yet"""
        self._ready: deque[int] = deque()
        self._held: list[int] = []

    def index_of(self, packet: int) -> int:
        return packet % self.window

    def version_of(self, packet: int) -> int:
        return packet % (2 * self.window) // self.window

    def start(self, packets: int) -> None:
        PacketWindow.start(self, packets)
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
        """Keep the packet until `release`."""
        self._held.append(packet)

    def release(self) -> None:
        self._ready.extend(self._held)
        self._held.clear()

    def left(self, packet: int, now: int) -> int:
        index = packet % self.window
        before: int = self._tries[index]
        self._tries[index] = before + 1
        if not before:
            self._first_at[index] = self.progress_at = now
        self._wait(packet, now + self._timer.wait(before))
        return before

    def is_outstanding(self, packet: int) -> bool:
        has_left: bool = self._tries[packet % self.window] > 0
        return has_left and self._is_missing(packet)

    def _is_missing(self, packet: int) -> bool:
        is_missing: bool = self._outstanding[packet % self.window] == packet
        return is_missing

    def settle(self, packet: int, now: int) -> None:
        if not self.is_outstanding(packet):
            raise ValueError(f"packet {packet} is not outstanding")
        index = packet % self.window
        self._outstanding[index] = _NOTHING
        self.missing -= 1
        self.progress_at = now
        self._timer.measure(now - self._first_at[index])
        if packet + self.window < self.end:
            self._let_go(packet + self.window)

    def expire(self, now: int) -> int:
        expired = 0
        while self.due() <= now and self._timer_count:
            self._ready.append(self._expired())
            expired += 1
        return expired

    def _let_go(self, packet: int) -> None:
        index = packet % self.window
        self._outstanding[index], self._tries[index] = packet, 0
        self._ready.append(packet)
