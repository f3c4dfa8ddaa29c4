"""Which packets of an ATP worker are outstanding, when they are sent again, and how many may be.

Source: the worker of ATP's public implementation (`in-ATP/ATP`), reconstructed in the protocol text, section 3.3: a
sliding window behind the oldest packet without a result; a result that leaves a gap lets what is missing leave again,
once per gap; and per packet a timer that never gives up. Once per window of results its size is halved when one of them
was marked, else one packet is added (AIMD; compiled off in the release). Decided here: it begins at its largest, and
never exceeds the W entries of the slot table, so that no two outstanding packets share an entry. Where packets take
several ways in turn, each way has gaps of its own. The first timer after a result has the oldest packet leave again,
and what did before. The others may wait for another worker of their sums, and switches do not sum what leaves again: if
all left, the link of the server would be full for longer than the timer. When nothing but the oldest one came until the
next timer, all leave.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator

from workloads.datagrams.retransmission import BackoffTimer

__all__ = ["SendWindow"]


class SendWindow:
    """Packets are numbered from 0 over the whole life of the job. Times in ns. `aimd=False`: W packets, always. `seed`:
    of the worker's waits, other than its peers'. `ways`: that packets take in turn, on each of which a gap in the
    results is a loss; 0: nowhere."""

    def __init__(self, window: int, rto_ns: int, *, aimd: bool = True, seed: int = 0, ways: int = 1) -> None:
        self.window, self._aimd, self._ways = window, aimd, ways
        self._probes = ways > 0
        """a timer has one packet leave first"""
        self.size = window
        """packets that may be outstanding now"""
        self.first = self.end = 0
        """packets of the running tensor: first .. end - 1"""
        self.base = self.next = 0
        """oldest packet without a result; first that never left"""
        self._tops = [way - ways for way in range(ways)]
        """last packet of each way with a result"""
        self._settled = [False] * window
        self._deadline: list[int | None] = [None] * window
        self._first_at = [0] * window
        self._tries = [0] * window
        self._again: deque[tuple[int, str]] = deque()
        self._asked: set[int] = set()
        """packets of `_again`"""
        self._timers: list[tuple[int, int]] = []
        """(deadline, packet); those that are not valid any more are passed over"""
        self._timer = BackoffTimer(rto_ns, seed)
        self._probe: int | None = None
        """the packet that a timer let leave again, while no other one had a result since"""
        self.progress_at = 0
        """when a result last came, or a packet last left for the first time"""
        self._round_end = window
        self._marked = False

    @property
    def complete(self) -> bool:
        """Every packet of the tensor has its result."""
        return self.base == self.end

    def start(self, packets: int) -> None:
        """The next tensor, when the last one is complete."""
        self.first, self.end = self.end, self.end + packets

    def take(self, may_leave: Callable[[int], bool]) -> tuple[int, str] | None:
        """The next packet that leaves, and why it does so again (empty: for the first time); `left` follows. None:
        none. `may_leave`: whether the data of a packet is there."""
        found = next(self._waiting(), None)
        if found is not None:
            self._again.remove(found)
            self._asked.discard(found[0])
            return found
        packet = self.next
        if packet < min(self.end, self.base + self.size) and may_leave(packet):
            return packet, ""
        return None

    def has_more(self, may_leave: Callable[[int], bool]) -> bool:
        """Whether `take` would give a packet."""
        return next(self._waiting(), None) is not None or (
            self.next < min(self.end, self.base + self.size) and may_leave(self.next)
        )

    def _waiting(self) -> Iterator[tuple[int, str]]:
        """What may leave once more, the oldest wish first."""
        while self._again and not self.is_outstanding(self._again[0][0]):  # its result came while it waited
            self._asked.discard(self._again.popleft()[0])
        for packet, cause in self._again:
            if self.is_outstanding(packet) and self._may_repeat(packet, cause):
                yield packet, cause

    def _may_repeat(self, packet: int, cause: str) -> bool:
        """Whether an outstanding packet that was asked for may leave once more, now."""
        return True

    def left(self, packet: int, now: int) -> int:
        """It leaves now; how often it did before."""
        index = packet % self.window
        if packet == self.next:
            self.next += 1
            self.progress_at = now
            self._first_at[index], self._tries[index], self._settled[index] = now, 0, False
        before = self._tries[index]
        self._tries[index] = before + 1
        self._wait(packet, now)
        return before

    def _wait(self, packet: int, now: int) -> None:
        deadline = self._deadline[packet % self.window] = now + self._timer.wait()
        heapq.heappush(self._timers, (deadline, packet))

    def is_outstanding(self, packet: int) -> bool:
        return self.base <= packet < self.next and not self._settled[packet % self.window]

    def ask_again(self, packet: int, cause: str) -> None:
        """Let an outstanding packet leave once more."""
        if packet not in self._asked:
            self._asked.add(packet)
            self._again.append((packet, cause))

    def settle(self, packet: int, now: int, *, marked: bool) -> None:
        """The result of an outstanding packet came. `marked`: with the news of congestion. Raises ValueError for any
        other packet: its caller asks `is_outstanding` first."""
        if not self.is_outstanding(packet):
            raise ValueError(f"packet {packet} is not outstanding")
        self._settled[packet % self.window] = True
        self.progress_at = now
        if packet != self._probe:
            self._probe = None
        if self._tries[packet % self.window] == 1:
            self._timer.measure(now - self._first_at[packet % self.window])
        if self._ways:
            self._overtook(packet)
        while self.base < self.next and self._settled[self.base % self.window]:
            self.base += 1
        self._adapt(marked)

    def _overtook(self, packet: int) -> None:
        ways, way = self._ways, packet % self._ways
        oldest = self.base + (packet - self.base) % ways
        for missing in range(max(self._tops[way] + ways, oldest), packet, ways):
            self.ask_again(missing, "gap")
        self._tops[way] = max(self._tops[way], packet)

    def _adapt(self, marked: bool) -> None:
        self._marked |= marked
        if not self._aimd or self.base < self._round_end:
            return
        self.size = max(1, self.size // 2) if self._marked else min(self.window, self.size + 1)
        self._marked, self._round_end = False, self.base + self.size

    def get_timer(self) -> int | None:
        timers = self._timers
        while timers and not self._is_armed(*timers[0]):
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def expire(self, now: int) -> int:
        """Let what waited too long leave again; how many packets that are. First the oldest one and what
        left again before, and the others wait once more: another worker of their sums may lack a result. A round behind
        that takes all."""
        due = []
        while (deadline := self.get_timer()) is not None and deadline <= now:
            _, packet = heapq.heappop(self._timers)
            self._deadline[packet % self.window] = None
            due.append(packet)
        waiting = list(filter(self.is_outstanding, range(self.base, self.next))) if due and self._probes else []
        if self._probe is None and len(waiting) > 1:
            self._probe, tries = min(due), self._tries
            again = [packet for packet in due if packet == self._probe or tries[packet % self.window] > 1]
            for packet in waiting:
                if packet in again:
                    self.ask_again(packet, "timeout")
                elif tries[packet % self.window] == 1:
                    self._wait(packet, now)
            return len(again)
        for packet in due:
            self.ask_again(packet, "timeout")
        if due and self._timer.expired(now):
            self._waited_in_vain()
        return len(due)

    def _waited_in_vain(self) -> None:
        """A round of packets had no result in time."""

    def _is_armed(self, deadline: int, packet: int) -> bool:
        return self.is_outstanding(packet) and self._deadline[packet % self.window] == deadline
