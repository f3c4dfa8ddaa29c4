"""The sender of `irn-rack`: IRN that recognises losses by time, not by order alone. After RACK (RFC 8985).

Rule 1: every packet that was delivered says when it left and how long its answer took. The time of those that left
latest is the present round trip (RFC 8985, 6.2, steps 1 and 2). A packet that was sent again and answered sooner than
any round trip took so far was not lost: the answer is about the first copy. Where packets may wait in the network, an
answer never shows which copy it is about: there only packets sent once count.
Rule 2: a packet is lost when one that left after it was delivered, and its own round trip plus the reorder window is
over (6.2, step 5). If only the time is not over, a timer waits for it. So a repetition that is lost is found in the
same way. Where packets may wait in the network, a repetition may wait with the first copy and look lost in its turn.
There repetitions show only that the oldest packet was lost again, or they would bring each other about. What no answer
shows is left to IRN's timers: an expired one makes the sender resend every hole that did not leave again since; or
everything in flight, by rule 8 of `irn_window`.
Rule 3: as long as no packet overtook another, three packets that were delivered behind a hole say at once that it is
lost. Fewer wait for a quarter of the shortest round trip (6.2, step 4).
Rule 4: after that, the reorder window is that quarter plus the delay of the latest packets: how much longer than a
round trip they took. RFC 8985 raises it step by step by what DSACK reports. IRN answers each packet by name, so the
delay is measured. The largest of the last two times 256 deliveries counts.
Rule 5: a packet that was sent twice and answered twice was resent for nothing, even where rule 1 could not see it. Then
the window rises by the quarter, once in a round trip.
Rule 6: the window is never longer than `most_ns`.
Rule 7: a packet that came without its payload, as an answer says, is lost at once.
Rule 8: when nothing was heard or sent for two mean round trips, the newest packet that did not arrive leaves again, as
a probe (7.2). Its answer shows by rule 2 what else is lost. That packet may have been sent again before, since nothing
may be left to send behind it. There is one probe until something is heard. There is none where packets may wait in the
network: there the mean contains the waits for other hosts.

Sequence numbers do not wrap here. What a probe does not find waits for IRN's timers.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from workloads.rc.irn_window import SenderWindow

__all__ = ["RackWindow"]

_EPOCH = 256
"""deliveries"""
_ENOUGH = 3
"""DupThresh of RFC 8985, RFC 5681"""
_PROBE_TRIPS, _SMOOTHING = 2, 8
"""constants of RFC 8985, 7.2, and of RFC 6298"""
_REMEMBERED = 1024
"""packets that were sent again and arrived"""


@dataclass(slots=True)
class _Flight:
    """A packet that left and is not acknowledged."""

    first_ns: int
    last_ns: int
    order: int
    """place of its last copy among all that left"""
    copies: int = 1
    arrived: bool = False


class RackWindow(SenderWindow):
    """`now` is to be set before every call. `timer`: when `detect` has something to look at; None: never."""

    def __init__(self, first: int, cap: int, most_ns: int, *, in_order: bool = True) -> None:
        super().__init__(first, cap, in_order=in_order)
        self.now = 0
        self.timer: int | None = None
        self._most_ns = most_ns
        self._flights: dict[int, _Flight] = {}
        self._waiting: dict[int, _Flight] = {}
        """packets that rule 2 must check, in the order in which they left"""
        self._lost: list[int] = []
        """heap; may name packets that arrived since"""
        self._is_lost: set[int] = set()
        self._trimmed: set[int] = set()
        """those of the lost that came without their payload"""
        self._orders = 0
        self._newest_order = -1
        """newest place among the copies that were delivered"""
        self._newest_again = -1
        """the same of packets that were sent again, where packets may wait in the network"""
        self._rtt_ns: int | None = None
        """round trip of that copy"""
        self._shortest_ns: int | None = None
        self._smooth_ns = 0
        """mean round trip of packets that were sent once, as RFC 6298 has it; 0: none was measured"""
        self._is_reordered = False
        self._behind = 0
        """packets that arrived and are not acknowledged"""
        self._late = [0, 0]
        """most lateness in this and in the last epoch"""
        self._deliveries = 0
        self._repeated: dict[int, None] = {}
        """sent again and arrived, the latest of them"""
        self._raised_to = first
        """rule 5 waits until this is acknowledged"""
        self.expired_at: int | None = None
        """when the timer of IRN was over that calls `timed_out`; None: now"""

    @property
    def unheard(self) -> int:
        return self.in_flight - self._behind

    @property
    def is_busy(self) -> bool:
        """Something is to be sent again, or waits for the reorder window."""
        return bool(self._is_lost) or self.timer is not None

    @property
    def probe_ns(self) -> int | None:
        """Rule 8: how long nothing may be heard before a probe leaves; None: not known."""
        return _PROBE_TRIPS * self._smooth_ns if self._in_order and self._smooth_ns else None

    def probe(self) -> bool:
        """The newest packet that is not known to have arrived leaves again, if there is one."""
        newest = max((n for n, flight in self._flights.items() if not flight.arrived), default=None)
        if newest is None or self._is_lost:
            return False
        self._waiting[newest] = self._flights[newest]
        self._lose(newest)
        return True

    def upcoming(self, end: int) -> int | None:
        while self._lost and self._lost[0] not in self._is_lost:
            heappop(self._lost)
        if self._lost:
            return self._lost[0]
        return self._unsent(end)

    def left(self, sequence: int) -> None:
        self._orders += 1
        if sequence == self.nxt:
            self._flights[sequence] = self._waiting[sequence] = _Flight(self.now, self.now, self._orders)
            self.nxt += 1
            return
        self._is_lost.discard(sequence)
        self._trimmed.discard(sequence)
        flight = self._waiting[sequence] = self._flights[sequence]
        flight.last_ns, flight.order, flight.copies = self.now, self._orders, flight.copies + 1

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        flight = self._flights.get(selective)
        if flight is not None and not flight.arrived:
            self._delivered(selective, flight)
        elif selective in self._repeated and selective < self.nxt:
            del self._repeated[selective]
            self._raise()
        new = self._gone(cumulative)
        self.detect()
        return new > 0

    def _gone(self, cumulative: int) -> int:
        """Everything in front of it arrived; how many packets that brings."""
        new = cumulative - self.una
        for sequence in range(self.una, cumulative):
            gone = self._flights.pop(sequence)
            self._behind -= gone.arrived
            self._forget(sequence)
        if new > 0:
            self.una = cumulative
            self._widen(new)
        return new

    def trimmed(self, cumulative: int, selective: int) -> bool:
        new = self._gone(cumulative)
        self._narrow(selective)
        flight = self._flights.get(selective)
        if flight is not None and not flight.arrived:
            self._trimmed.add(selective)
            self._waiting[selective] = flight
            self._lose(selective)
        self.detect()
        return new > 0

    def was_trimmed(self, sequence: int) -> bool:
        return sequence in self._trimmed

    def timed_out(self) -> None:
        again = [self.una]
        if self._note_timer() and not self._behind:
            again = list(self._flights)
        elif not self._in_order:
            highest = max((number for number, flight in self._flights.items() if flight.arrived), default=self.una)
            again += [n for n, flight in self._flights.items() if self.una < n < highest and self._is_hole(flight)]
        for sequence in again:
            self._waiting[sequence] = self._flights[sequence]
            self._lose(sequence)

    def _is_hole(self, flight: _Flight) -> bool:
        """Did not arrive. The reorder window may hold IRN's timer up, and find a hole: its repetition is under way."""
        return not flight.arrived and (self.expired_at is None or flight.last_ns < self.expired_at)

    def detect(self) -> None:
        """Rule 2: schedule the packets that are lost by now."""
        self.timer = None
        if self._rtt_ns is None:
            return
        due = self._rtt_ns + self._reorder_window()
        oldest = self._waiting.get(self.una)
        if oldest is not None and oldest.copies > 1 and oldest.order < self._newest_again:
            self._lose_at(self.una, oldest.last_ns + due)
        while self._waiting:
            sequence, flight = next(iter(self._waiting.items()))
            if flight.order >= self._newest_order or not self._lose_at(sequence, flight.last_ns + due):
                return

    def _lose_at(self, sequence: int, time: int) -> bool:
        """Whether that time is over, and the packet lost."""
        if time <= self.now:
            self._lose(sequence)
            return True
        self.timer = time if self.timer is None else min(self.timer, time)
        return False

    def _lose(self, sequence: int) -> None:
        if self._waiting.pop(sequence, None) is not None and sequence not in self._is_lost:
            self._is_lost.add(sequence)
            heappush(self._lost, sequence)

    def _forget(self, sequence: int) -> None:
        """Forget a packet that is no longer needed."""
        self._waiting.pop(sequence, None)
        self._is_lost.discard(sequence)
        self._trimmed.discard(sequence)

    def _delivered(self, sequence: int, flight: _Flight) -> None:
        flight.arrived = True
        self._behind += 1
        self._forget(sequence)
        self._deliveries += 1
        if self._deliveries % _EPOCH == 0:
            self._late = [0, self._late[0]]
        took = self.now - flight.last_ns
        if flight.copies > 1:
            self._repeated[sequence] = None
            if len(self._repeated) > _REMEMBERED:
                del self._repeated[next(iter(self._repeated))]
            if self._shortest_ns is not None and took < self._shortest_ns:
                self._was_late(self.now - flight.first_ns)
                return
            if not self._in_order:
                self._newest_again = max(self._newest_again, flight.order)
                return
        else:
            self._shortest_ns = took if self._shortest_ns is None else min(self._shortest_ns, took)
            self._smooth_ns += (took - self._smooth_ns) // _SMOOTHING if self._smooth_ns else took
        if flight.order > self._newest_order:
            self._newest_order, self._rtt_ns = flight.order, took
        elif flight.copies == 1:
            self._was_late(took)

    def _was_late(self, took: int) -> None:
        self._is_reordered = True
        if self._rtt_ns is not None:
            self._note(took - self._rtt_ns)

    def _note(self, late: int) -> None:
        self._late[0] = max(self._late[0], late)

    def _raise(self) -> None:
        if self.una < self._raised_to or self._shortest_ns is None:
            return
        self._is_reordered, self._raised_to = True, self.nxt
        self._note(max(self._late) + self._shortest_ns // 4)

    def _reorder_window(self) -> int:
        shortest = self._shortest_ns or 0
        if self._is_reordered:
            return min(self._most_ns, max(self._late) + shortest // 4)
        return 0 if self._behind >= _ENOUGH else min(self._most_ns, shortest // 4)
