"""Which packets of an ATP worker are outstanding, when they are sent again, and how many may be.

Source: the worker of ATP's public implementation (`in-ATP/ATP`), reconstructed in the protocol text, section 3.3. It
has a sliding window behind the oldest packet without a result. A result that leaves a gap makes the worker resend what
is missing, once per gap. Each packet has a timer that never gives up. Once per window of results the window size is
halved if one of them was marked. Otherwise it grows by one packet (AIMD; compiled off in the release). Decided here:
the window begins at its largest. It never exceeds the W entries of the slot table, so no two outstanding packets share
an entry. Where packets take several paths in turn, each path has gaps of its own. The first timer after a result
resends the oldest packet, and what was resent before. The others may wait for another worker of their sums, and
switches do not sum what is resent. If all were resent, the server's link would be full for longer than the timer. When
only the oldest packet got a result until the next timer, all are resent.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

from workloads.datagrams.packet_window import NOTHING, PacketWindow
from workloads.datagrams.retransmission import BackoffTimer

__all__ = ["GAP", "SendWindow"]

_NOTHING = NOTHING
_NUMBERS = "q"
"""type code of arrays with 64 bits"""
GAP = "gap"
"""cause of a packet that leaves again since a later one has its result"""


class SendWindow(PacketWindow):
    """`aimd=False`: W packets, always. `seed`: of the worker's waits, other than its peers'. `ways`: number of paths
    that packets take in turn. A gap in the results of one path is a loss; 0: no gap is a loss. A subclass may override
    what has no underscore."""

    def __init__(self, window: int, rto_ns: int, *, aimd: bool = True, seed: int = 0, ways: int = 1) -> None:
        PacketWindow.__init__(self, window)
        self._aimd, self._ways = aimd, ways
        self._probes = ways > 0
        """a timer has one packet leave first"""
        self.size = window
        """packets that may be outstanding now"""
        self.base = self.next = 0
        """oldest packet without a result; first that never left"""
        self.cause = ""
        """why the packet that `next_leaving` gave leaves again; empty: for the first time"""
        self._tops: Any = array(_NUMBERS, [way - ways for way in range(ways)])
        """last packet of each way with a result"""
        self._settled: Any = array(_NUMBERS, [0]) * window
        self._again: deque[tuple[int, str]] = deque()
        self._asked: set[int] = set()
        """packets of `_again`"""
        self._timer = BackoffTimer(rto_ns, seed)
        self._probe = _NOTHING
        """the packet that a timer let leave again, while no other one had a result since"""
        self._round_end = window
        self._marked = False

    def take(self, may_leave: Callable[[int], bool]) -> tuple[int, str] | None:
        """The next packet that leaves, and why it does so again (empty: for the first time); `left` follows. None:
        none. `may_leave`: whether the data of a packet is there."""
        packet = self.next_leaving()
        if packet < 0 or (not self.cause and not may_leave(packet)):
            return None
        return packet, self.cause

    def next_leaving(self) -> int:
        """As `take`, whatever the data of a packet that leaves for the first time; below 0: none."""
        if self._again:
            packet = self._wish()
            if packet >= 0:
                self._again.remove((packet, self.cause))
                self._asked.discard(packet)
                return packet
        self.cause = ""
        return self.next if self._has_room() else _NOTHING

    def has_more(self, is_ready: bool) -> bool:
        """Whether `take` would give a packet. `is_ready`: the data of the first one that never left is there."""
        return self._wish() >= 0 or (is_ready and self._has_room())

    def _has_room(self) -> bool:
        return self.next < self.end and self.next < self.base + self.size

    def _wish(self) -> int:
        """Packet that may be resent, the oldest request first, and its `cause`; below 0: none."""
        again = self._again
        while again and not self.is_outstanding(again[0][0]):  # its result came while it waited
            self._asked.discard(again.popleft()[0])
        for packet, cause in again:
            if self.is_outstanding(packet) and self.may_repeat(packet, cause):
                self.cause = cause
                return packet
        return _NOTHING

    def may_repeat(self, packet: int, cause: str) -> bool:
        """Whether an outstanding packet that was asked for may be resent now."""
        return True

    def left(self, packet: int, now: int) -> int:
        index = packet % self.window
        if packet == self.next:
            self.next += 1
            self.progress_at = now
            self._first_at[index], self._tries[index], self._settled[index] = now, 0, 0
        before: int = self._tries[index]
        self._tries[index] = before + 1
        wait: int = self._timer.wait_for_copy() if self.cause == GAP else self._timer.wait()
        self._wait(packet, now + wait)
        return before

    def is_outstanding(self, packet: int) -> bool:
        return self.base <= packet < self.next and not self._settled[packet % self.window]

    def _is_missing(self, packet: int) -> bool:
        return self.is_outstanding(packet)

    def ask_again(self, packet: int, cause: str) -> None:
        """Let an outstanding packet be resent."""
        if packet not in self._asked:
            self._asked.add(packet)
            self._again.append((packet, cause))

    def mark(self) -> None:
        """The result that is settled next came with the news of congestion."""
        self._marked = True

    def settle(self, packet: int, now: int) -> None:
        if not self.is_outstanding(packet):
            raise ValueError(f"packet {packet} is not outstanding")
        index = packet % self.window
        self._settled[index] = 1
        self.missing -= 1
        self.progress_at = now
        if packet != self._probe:
            self._probe = _NOTHING
        if self._tries[index] == 1:
            self._timer.measure(now - self._first_at[index])
        if self._ways:
            self._overtook(packet)
        while self.base < self.next and self._settled[self.base % self.window]:
            self.base += 1
        self._adapt()

    def _overtook(self, packet: int) -> None:
        ways, way = self._ways, packet % self._ways
        top, oldest = self._tops[way], self.base + (packet - self.base) % ways
        missing = top + ways if top + ways > oldest else oldest
        while missing < packet:
            self.ask_again(missing, GAP)
            missing += ways
        if packet > top:
            self._tops[way] = packet

    def _adapt(self) -> None:
        if not self._aimd or self.base < self._round_end:
            return
        if self._marked:
            self.size = self.size // 2 if self.size > 1 else 1
        elif self.size < self.window:
            self.size += 1
        self._marked, self._round_end = False, self.base + self.size

    def expire(self, now: int) -> int:
        """Resend the oldest packet first, and those that were resent before. The others wait for one more round,
        because another worker of their sums may lack a result. The round after that resends all."""
        due: list[int] = []
        while self.due() <= now and self._timer_count:
            due.append(self._expired())
        if not due:
            return 0
        if self._probes and self._probe == _NOTHING:
            waiting = [packet for packet in range(self.base, self.next) if self.is_outstanding(packet)]
            if len(waiting) > 1:
                return self._send_probe(due, waiting, now)
        for packet in due:
            self.ask_again(packet, "timeout")
        if self._timer.expired(now):
            self.waited_in_vain()
        return len(due)

    def _send_probe(self, due: list[int], waiting: list[int], now: int) -> int:
        self._probe = min(due)
        again = [packet for packet in due if packet == self._probe or self._tries[packet % self.window] > 1]
        for packet in waiting:
            if packet in again:
                self.ask_again(packet, "timeout")
            elif self._tries[packet % self.window] == 1:
                self._wait(packet, now + self._timer.wait())
        return len(again)

    def waited_in_vain(self) -> None:
        """A round of packets had no result in time."""
