"""One vector on its way from one host to another: which packets are there, which are under way, which go again.

Nothing here asks for order: a packet is lost when its time is up, and never because another one came first. A sender
works in rounds. Nothing is sent again before each packet left once, and each was acknowledged or its time is up: a
receiver that needs only some of them has closed by then. The next round is what is missing then, and so on.
"""

from __future__ import annotations

import heapq
from collections import deque

from workloads.datagrams.retransmission import BackoffTimer

__all__ = ["ReceivedFlow", "SendingFlow"]


class ReceivedFlow:
    """Closed when `needed` of `packets` packets are there; what comes later does not count any more."""

    def __init__(self, packets: int, needed: int) -> None:
        self.packets, self.needed = packets, needed
        self.counted = 0
        self._inside = bytearray(packets)

    @property
    def closed(self) -> bool:
        return self.counted >= self.needed

    @property
    def bitmap(self) -> str:
        """Packet k is bit k of this hexadecimal number."""
        return f"{int(''.join(map(str, reversed(self._inside))), 2):x}"

    def has(self, packet: int) -> bool:
        """Whether it counts."""
        return bool(self._inside[packet])

    def take(self, packet: int, *, also_closed: bool = False) -> bool:
        """Whether it counts from now on: it came for the first time, to an open flow (or `also_closed`)."""
        if (self.closed and not also_closed) or self._inside[packet]:
            return False
        self._inside[packet] = 1
        self.counted += 1
        return True


class SendingFlow:
    """Packets 0 .. packets-1 of one vector, `window` of them under way. Times in ns."""

    def __init__(self, packets: int, window: int, timer: BackoffTimer) -> None:
        self.packets, self._window, self._timer = packets, window, timer
        self._round = deque(range(packets))
        """what is still to leave in this round"""
        self._late: deque[int] = deque()
        """of this round, what waited too long"""
        self._settled = bytearray(packets)
        self._missing = packets
        self.departed = 0
        """packets that left, each counted once"""
        self._tries = [0] * packets
        self._first_at: dict[int, int] = {}
        self._deadline: dict[int, int] = {}
        """of what is under way"""
        self._timers: list[tuple[int, int]] = []
        """(deadline, packet); those that are not valid any more are passed over"""
        self._stopped = False
        self.progress_at = 0
        """when an acknowledgement last brought something, or a packet last left for the first time"""

    @property
    def over(self) -> bool:
        """The receiver has all, or wants no more."""
        return self._stopped or not self._missing

    def take(self) -> int | None:
        """The next packet that leaves; `left` follows. None: none."""
        if self.over or len(self._deadline) >= self._window:
            return None
        if not self._round and not self._deadline:
            self._round, self._late = self._late, deque()
        while self._round:
            packet = self._round.popleft()
            if not self._settled[packet]:
                return packet
        return None

    def left(self, packet: int, now: int) -> int:
        """It leaves now; how often it did before."""
        before = self._tries[packet]
        self._tries[packet] = before + 1
        if not before:
            self._first_at[packet] = self.progress_at = now
            self.departed += 1
        deadline = now + self._timer.wait()
        self._deadline[packet] = deadline
        heapq.heappush(self._timers, (deadline, packet))
        return before

    def has_left(self, packet: int) -> bool:
        return self._tries[packet] > 0

    def settle(self, packet: int, now: int) -> bool:
        """The receiver has it. False: that was known, or it never left."""
        if self._settled[packet] or not self._tries[packet]:
            return False
        self._settled[packet] = 1
        self._missing -= 1
        self.progress_at = now
        self._deadline.pop(packet, None)
        if self._tries[packet] == 1:
            self._timer.measure(now - self._first_at[packet])
        return True

    def stop(self) -> None:
        """The receiver wants no more."""
        self._stopped = True

    def get_timer(self) -> int | None:
        if self.over:
            return None
        timers = self._timers
        while timers and self._deadline.get(timers[0][1]) != timers[0][0]:
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def expire(self, now: int) -> int:
        """Let what waited too long leave again in the next round; how many packets that are."""
        expired = 0
        while (due := self.get_timer()) is not None and due <= now:
            _, packet = heapq.heappop(self._timers)
            del self._deadline[packet]
            self._late.append(packet)
            expired += 1
        if expired:
            self._timer.expired(now)
        return expired
