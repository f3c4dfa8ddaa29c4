"""The sender of `irn-held`: answers that show a gap say which packets need not be sent again
(`workloads.wire.held_map`).

Rule 1: a map names the newest packet that came to the node before. A packet is lost when its bit is clear and its last
copy left no later than that of the named packet: lines keep the order. Lost packets are sent again, the lowest first,
also when they are lost again.
Rule 2: lost tails, and packets that no answer reports, wait for IRN's timers: the oldest packet is sent again.
Rule 3: after a timer sent a packet again, it may be that only this packet arrived and nothing behind it is known to be
here. Then the next timer takes all packets in flight for lost.
Rule 4: a packet that came without its payload, as an answer says, is lost.

Sequence numbers do not wrap here.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from workloads.rc.irn_window import SenderWindow, lowest

__all__ = ["REMEMBERED", "HeldState", "HeldWindow"]

REMEMBERED = 4096
"""packets in front of the oldest unacknowledged one: a map may name one of them as the newest"""
_WORD = 8


class HeldState(NamedTuple):
    """State that compiled code needs in addition to `WindowState`."""

    copies: int
    """number of copies that left"""
    lost: int
    """bitmap of what is to be sent again; bit 0 is `una`"""


class HeldWindow(SenderWindow):
    """As `SenderWindow`, with other rules."""

    def __init__(self, first: int, cap: int) -> None:
        super().__init__(first, cap, in_order=False)
        self._copies = 0
        """number of copies that left"""
        places = 1 << (cap + REMEMBERED - 1).bit_length()
        self.places = array("q", bytes(_WORD * places))
        """place of the last copy among all that left, by sequence number modulo its length. Compiled code has it too"""
        self._lost = 0
        """bitmap, as `_arrived`"""

    @property
    def held_state(self) -> HeldState:
        return HeldState(self._copies, self._lost)

    @held_state.setter
    def held_state(self, state: HeldState) -> None:
        self._copies, self._lost = state

    def upcoming(self, end: int) -> int | None:
        if self._lost:
            return self.una + lowest(self._lost)
        return self._unsent(end)

    def left(self, sequence: int) -> None:
        self._copies += 1
        self.places[sequence % len(self.places)] = self._copies
        if sequence == self.nxt:
            self.nxt += 1
        self._settle(1 << sequence - self.una)
        self._arrived &= ~(1 << sequence - self.una)

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        new = self._acknowledge(cumulative)
        if is_gap and selective >= self.una:
            bit = 1 << selective - self.una
            self._arrived |= bit
            self._settle(bit)
        return new > 0

    def trimmed(self, cumulative: int, selective: int) -> bool:
        new = self.heard(False, cumulative, selective)
        self._narrow(selective)
        if self._is_missing(selective):
            self._lost |= 1 << selective - self.una
            self._asked |= 1 << selective - self.una
        return new

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        """A map, its PSNs as sequence numbers."""
        limit = self._place(newest)
        for sequence in range(first, first + count):
            if not bits & 1 and self._is_missing(sequence) and self._place(sequence) <= limit:
                self._lost |= 1 << sequence - self.una
            bits >>= 1

    def timed_out(self) -> None:
        if self._note_timer() and not self._arrived:
            self._lost = (1 << self.in_flight) - 1
        elif self.in_flight:
            self._lost |= 1

    def _place(self, sequence: int) -> int:
        """Place of the last copy; 0: the packet never left, or is not remembered."""
        is_known = self.una - REMEMBERED <= sequence < self.nxt
        return self.places[sequence % len(self.places)] if is_known else 0

    def _is_missing(self, sequence: int) -> bool:
        """Whether it left, and is not known to have arrived."""
        return self.una <= sequence < self.nxt and not self._arrived >> sequence - self.una & 1

    def _settle(self, bit: int) -> None:
        """Note that a packet left, or arrived."""
        self._lost &= ~bit
        self._asked &= ~bit

    def _acknowledge(self, cumulative: int) -> int:
        new = super()._acknowledge(cumulative)
        if new > 0:
            self._lost >>= new
        return new
