"""One vector on its way from one host to another: which packets are there, which are under way, which go again.

Nothing here asks for order: a packet is lost when its time is up, and never because another one came first. A sender
works in rounds. It resends no packet before each packet left once, and was acknowledged or timed out. A receiver that
needs only some of them has closed by then. The next round consists of the missing packets, and so on.
"""

from __future__ import annotations

from collections import deque

import cython

from workloads.datagrams.packet_window import NOTHING, PacketWindow
from workloads.datagrams.retransmission import BackoffTimer

if not cython.compiled:
    from workloads.kernels import NEVER

__all__ = ["ReceivedFlow", "SendingFlow"]

_NOTHING = NOTHING


class ReceivedFlow:
    """Closed when `needed` of `packets` packets are there; what comes later does not count any more. A subclass may
    override `take`."""

    def __init__(self, packets: int, needed: int) -> None:
        self.packets, self.needed = packets, needed
        self.counted = 0
        self.closed = needed <= 0
        self._inside = bytearray(packets)

    @property
    def bitmap(self) -> str:
        """Packet k is bit k of this hexadecimal number."""
        return f"{int(''.join([str(each) for each in reversed(self._inside)]), 2):x}"

    def has(self, packet: int) -> bool:
        """Whether it counts."""
        return self._inside[packet] != 0

    def take(self, packet: int, also_closed: bool = False) -> bool:
        """Whether it counts from now on: it came for the first time, to an open flow (or `also_closed`)."""
        if (self.closed and not also_closed) or self._inside[packet]:
            return False
        self._inside[packet] = 1
        self.counted += 1
        self.closed = self.counted >= self.needed
        return True


class SendingFlow(PacketWindow):
    """A window over all packets of one vector, `most` of them under way at once; times in ns. A subclass may override
    what has no underscore."""

    def __init__(self, packets: int, most: int, timer: BackoffTimer) -> None:
        PacketWindow.__init__(self, packets)
        self._most, self._timer = most, timer
        self._round = deque(range(packets))
        """what is still to leave in this round"""
        self._late: deque[int] = deque()
        """packets of this round that waited too long"""
        self._settled = bytearray(packets)
        self._under_way = 0
        self.departed = 0
        """packets that left, each counted once"""
        self._stopped = False
        self.start(packets)

    @property
    def over(self) -> bool:
        """The receiver has all, or wants no more."""
        return self._is_over()

    def _is_over(self) -> bool:
        return self._stopped or not self.missing

    def next_leaving(self) -> int:
        """The next packet that leaves; `left` follows. Below 0: none."""
        if self._is_over() or self._under_way >= self._most:
            return _NOTHING
        if not self._round and not self._under_way:
            self._round, self._late = self._late, deque()
        while self._round:
            packet = self._round.popleft()
            if not self._settled[packet]:
                return packet
        return _NOTHING

    def left(self, packet: int, now: int) -> int:
        before: int = self._tries[packet]
        self._tries[packet] = before + 1
        if not before:
            self._first_at[packet] = self.progress_at = now
            self.departed += 1
        self._under_way += 1
        self._wait(packet, now + self._timer.wait())
        return before

    def has_left(self, packet: int) -> bool:
        has_left: bool = self._tries[packet] > 0
        return has_left

    def is_outstanding(self, packet: int) -> bool:
        return self.has_left(packet) and not self._settled[packet]

    def _is_missing(self, packet: int) -> bool:
        return not self._settled[packet]

    def settle(self, packet: int, now: int) -> None:
        if not self.is_outstanding(packet):
            raise ValueError(f"packet {packet} is not outstanding")
        self._settled[packet] = 1
        self.missing -= 1
        self.progress_at = now
        self._under_way -= self._deadline[packet] != _NOTHING
        if self._tries[packet] == 1:
            self._timer.measure(now - self._first_at[packet])

    def stop(self) -> None:
        """The receiver wants no more."""
        self._stopped = True

    def due(self) -> int:
        return NEVER if self._is_over() else PacketWindow.due(self)

    def expire(self, now: int) -> int:
        """Let what waited too long leave again in the next round; how many packets that are."""
        expired = 0
        while self.due() <= now and self._timer_count:
            self._late.append(self._expired())
            self._under_way -= 1
            expired += 1
        if expired:
            self._timer.expired(now)
        return expired
