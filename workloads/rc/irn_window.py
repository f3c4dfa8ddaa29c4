"""The sender of IRN as arithmetic on sequence numbers: what leaves next, and what an answer says about what is missing.

Rule 1: only lost packets are sent again. A packet that an answer names selectively has arrived. A hole is a packet
without such an answer below one that has it.
Rule 2: the first answer that shows a gap and brings nothing new schedules the oldest unacknowledged packet. Sending
that one opens a recovery. It lasts until everything that had left by then is acknowledged.
Rule 3: in a recovery each hole is sent again once, in order. What is lost again waits for the timer.
Rule 4: an answer in a recovery that acknowledges something new, but not all, schedules the oldest unacknowledged
packet, unless it was sent again already. Where packets may wait in the network, it does so only below one that arrived:
resent packets may overtake packets that wait.
Rule 5: an answer that was overtaken, so that the receiver is known to have more, shows no gap.
Rule 6: no more than `cap` packets are unacknowledged.
Rule 7: a packet that came without its payload, as an answer says, is sent again before all others, once for each such
answer. Until a timer runs out, rules 2 to 4 treat it as sent again.
Rule 8: after a timer sent a packet again, it may be that only this packet arrived. Then the next timer takes everything
in flight for lost. So a burst of losses with nothing behind it costs two timers, not one for each packet.
Rule 9: an answer about a packet without its payload halves the number of packets that may be unacknowledged, down to 2.
It does so only if that packet left after the last halving. Then the number grows by one, up to `cap`, whenever that
number of packets was acknowledged (RFC 5681).

Source: the authors' hardware model (NetSys/irn-vivado-hls), as read in docs/irn.md; rules 5, 7, 8 and 9 are ours.
Sequence numbers do not wrap here.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SenderWindow", "WindowState", "lowest"]

_LEAST = 2
"""least limit of rule 9, as RFC 5681 has it"""


class WindowState(NamedTuple):
    """What compiled code must know of a window: `SenderWindow` explains it."""

    una: int
    nxt: int
    recovering: bool
    recover_to: int
    again: int
    is_due: bool
    lost_to: int
    arrived: int


class SenderWindow:
    """`una` is the oldest unacknowledged sequence number, `nxt` the first that never left."""

    def __init__(self, first: int, cap: int, *, in_order: bool = True) -> None:
        """`in_order`: as `IrnConfig.in_order`."""
        self.una = self.nxt = first
        self.recovering = False
        self._cap, self._in_order = cap, in_order
        self._arrived = 0
        """bitmap of selective answers; bit 0 is `una`"""
        self._recover_to = first - 1
        """a recovery ends when more than this is acknowledged"""
        self._again = first - 1
        """sent again, or to be, up to here"""
        self._is_due = False
        """`_again` itself is still to be sent"""
        self._lost_to = first - 1
        """rule 8: what did not arrive up to here is a hole"""
        self._timed = first - 2
        """the oldest packet when a timer ran out last"""
        self._allowed, self._grown = cap, 0
        """rule 9: packets that may be unacknowledged at present; how many were acknowledged since that grew"""
        self._narrowed_to = first - 1
        """the last packet that had left when it shrank"""
        self._asked = self._renewed = 0
        """bitmaps as `_arrived`: trimmed and to be sent again; trimmed and sent again. Compiled code never has any"""

    @property
    def cap(self) -> int:
        """PSNs that may be unacknowledged."""
        return self._cap

    @property
    def in_flight(self) -> int:
        return self.nxt - self.una

    @property
    def unheard(self) -> int:
        """Number of packets in flight that no answer reports as arrived."""
        return self.in_flight - self._arrived.bit_count()

    @property
    def state(self) -> WindowState:
        return WindowState(
            self.una,
            self.nxt,
            self.recovering,
            self._recover_to,
            self._again,
            self._is_due,
            self._lost_to,
            self._arrived,
        )

    @state.setter
    def state(self, state: WindowState) -> None:
        self.una, self.nxt, self.recovering, self._recover_to = state.una, state.nxt, state.recovering, state.recover_to
        self._again, self._is_due, self._lost_to, self._arrived = (
            state.again,
            state.is_due,
            state.lost_to,
            state.arrived,
        )

    def upcoming(self, end: int) -> int | None:
        """What leaves next, when everything in front of `end` was posted; below `nxt` it left before."""
        if self._asked:
            return self.una + lowest(self._asked)
        if self._is_due and self._again >= self.una:
            return self._again
        return self._unsent(end)

    def _unsent(self, end: int) -> int | None:
        """What leaves for the first time, if something may."""
        return self.nxt if self.nxt < end and self.in_flight < self._allowed else None

    def left(self, sequence: int) -> None:
        """What `upcoming` said."""
        if sequence == self.nxt:
            self.nxt += 1
            return
        if self.was_trimmed(sequence):
            bit = 1 << sequence - self.una
            self._asked, self._renewed = self._asked & ~bit, self._renewed | bit
            return
        if sequence == self.una:
            self.recovering, self._recover_to = True, self.nxt - 1
        self._schedule_hole()

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        """An answer about a packet that left. `cumulative`: the receiver has everything in front of it. Whether that is
        new."""
        new = self._acknowledge(cumulative)
        if is_gap:
            bit = 1 << selective - self.una if selective > self.una else 0
            self._arrived |= bit
            self._asked &= ~bit
            if not self.recovering:
                if new == 0:
                    self.schedule_oldest()
            elif (self._is_due and self._again == selective) or (
                not self._is_due and selective - self.una == self._arrived.bit_length() - 1
            ):
                self._schedule_hole()
        knows_more = self._in_order or self._arrived or self._lost_to >= self.una
        if self.recovering and new > 0 and self._again < self.una and knows_more:
            self.schedule_oldest()
        return new > 0

    def trimmed(self, cumulative: int, selective: int) -> bool:
        """An answer about a packet that came without its payload; otherwise as `heard`."""
        new = self._acknowledge(cumulative)
        self._narrow(selective)
        if selective >= self.una and not self._arrived >> selective - self.una & 1:
            self._asked |= 1 << selective - self.una
        return new > 0

    def was_trimmed(self, sequence: int) -> bool:
        """Whether what `upcoming` says is sent again for that."""
        return self._asked >> sequence - self.una & 1 == 1

    def timed_out(self) -> None:
        """A timer ran out: the oldest packet is sent again, whatever happened to it before."""
        self._renewed = 0
        is_burst = self._note_timer() and not self._arrived
        self._lost_to = self.nxt - 1 if is_burst else self.una - 1
        self.schedule_oldest()

    def _note_timer(self) -> bool:
        """Whether all that was acknowledged since the timer before is the packet that it sent again."""
        before, self._timed = self._timed, self.una
        return self.una == before + 1

    def schedule_oldest(self) -> None:
        """Resend the oldest unacknowledged packet when its turn comes. If it was trimmed and was already resent, resend
        the missing packets behind it."""
        if not (self._asked | self._renewed) & 1:
            self._again, self._is_due = self.una, True
            return
        if not self.recovering:
            self.recovering, self._recover_to = True, self.nxt - 1
        self._again = self.una
        self._schedule_hole()

    def _narrow(self, trimmed: int) -> None:
        if trimmed > self._narrowed_to:
            self._allowed, self._grown = max(_LEAST, min(self._allowed, self.in_flight) // 2), 0
            self._narrowed_to = self.nxt - 1

    def _widen(self, new: int) -> None:
        """`new` packets were acknowledged."""
        if self._allowed < self._cap:
            self._grown += new
            if self._grown >= self._allowed:
                self._allowed, self._grown = self._allowed + 1, 0

    def _acknowledge(self, cumulative: int) -> int:
        """How many packets that brings."""
        new = cumulative - self.una
        if new > 0:
            self._arrived >>= new
            self._asked >>= new
            self._renewed >>= new
            self.una = cumulative
            self._widen(new)
        if self.recovering and cumulative > self._recover_to:
            self.recovering = False
        return new

    def _schedule_hole(self) -> None:
        """The lowest hole above `_again`, if one is below a packet that arrived, or taken for lost by rule 8."""
        start = max(self._again + 1, self.una) - self.una
        hole = start + lowest(~((self._arrived | self._asked | self._renewed) >> start))
        self._is_due = hole < max(self._arrived.bit_length(), self._lost_to + 1 - self.una)
        if self._is_due:
            self._again = self.una + hole


def lowest(bitmap: int) -> int:
    """Number of its lowest bit that is set; one is."""
    return (bitmap & -bitmap).bit_length() - 1
