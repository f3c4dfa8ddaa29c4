"""The sender of `irn-held`: answers that show a gap say which packets need not be sent again
(`workloads.wire.held_map`).

Rule 1: a packet is lost when a map has its bit clear and the last copy of it left no later than that of the PSN which
        the map names as the newest that came to the node before: lines keep the order. What is lost is sent again, the
        lowest first; so is what is lost again. Rule 2: tails, and what no answer tells of, wait for IRN's timers: the
        oldest packet is sent again. Rule 3: when all that happened since a timer sent a packet again is that this
        packet arrived, and nothing behind it is known to be here, the next timer takes all that is in flight for lost.
Rule 4: what came without its payload, as an answer says, is lost.

Sequence numbers do not wrap here.
"""

from __future__ import annotations

from workloads.rc.irn_window import SenderWindow

__all__ = ["HeldWindow"]

_REMEMBERED = 4096
"""packets that arrived: a map may name one of them as the newest"""


class HeldWindow(SenderWindow):
    """As `SenderWindow`, with other rules."""

    def __init__(self, first: int, cap: int) -> None:
        super().__init__(first, cap, in_order=False)
        self._orders = 0
        self._order: dict[int, int] = {}
        """by sequence number of what did not arrive: place of its last copy among all that left"""
        self._gone: dict[int, int] = {}
        """the same of what arrived"""
        self._lost: set[int] = set()
        self._trimmed: set[int] = set()

    def upcoming(self, end: int) -> int | None:
        if self._lost:
            return min(self._lost)
        return self.nxt if self.nxt < end and self.in_flight < self._cap else None

    def left(self, sequence: int) -> None:
        self._orders += 1
        self._order[sequence] = self._orders
        self._lost.discard(sequence)
        self._trimmed.discard(sequence)
        if sequence == self.nxt:
            self.nxt += 1

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        new = cumulative - self.una
        for sequence in range(self.una, cumulative):
            self._arrives(sequence)
        self.una = max(self.una, cumulative)
        if is_gap:
            self._arrives(selective)
        return new > 0

    def trimmed(self, cumulative: int, selective: int) -> bool:
        new = self.heard(False, cumulative, selective)
        if selective in self._order:
            self._lost.add(selective)
            self._trimmed.add(selective)
        return new

    def was_trimmed(self, sequence: int) -> bool:
        return sequence in self._trimmed

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        """A map, its PSNs as sequence numbers."""
        limit = self._order.get(newest, self._gone.get(newest, 0))
        for at in range(count):
            if not bits >> at & 1 and 0 < self._order.get(first + at, 0) <= limit:
                self._lost.add(first + at)

    def timed_out(self) -> None:
        if self._note_timer() and len(self._order) == self.in_flight:
            self._lost |= set(self._order)
        elif self.in_flight:
            self._lost.add(self.una)

    def _arrives(self, sequence: int) -> None:
        order = self._order.pop(sequence, None)
        if order is None:
            return
        self._gone[sequence] = order
        if len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]
        self._lost.discard(sequence)
        self._trimmed.discard(sequence)
