"""The sender of IRN as arithmetic on sequence numbers: what leaves next, and what an answer says about what is missing.

Rule 1: what is lost is sent again alone. A packet that an answer names selectively has arrived; a hole is a packet
        without such an answer below one that has it. Rule 2: the first answer that shows a gap and brings nothing new
        schedules the oldest unacknowledged packet. Sending that one opens a recovery, which lasts until everything that
        had left by then is acknowledged. Rule 3: in a recovery each hole is sent again once, in order. What is lost
        again waits for the timer. Rule 4: an answer in a recovery that acknowledges something new, but not all,
        schedules the oldest unacknowledged packet, unless it was sent again already. Where packets may wait in the
        network, it does so only below one that arrived: what was sent again may overtake what waits. Rule 5: an answer
        that was overtaken, so that the receiver is known to have more, shows no gap. Rule 6: no more than `cap` packets
        are unacknowledged.

Source: the authors' hardware model (NetSys/irn-vivado-hls), as read in docs/irn.md; rule 5 is ours. Sequence numbers do
not wrap here.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SenderWindow", "WindowState"]


class WindowState(NamedTuple):
    """All that a window knows: `SenderWindow` explains it."""

    una: int
    nxt: int
    recovering: bool
    recover_to: int
    again: int
    is_due: bool
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

    @property
    def cap(self) -> int:
        """PSNs that may be unacknowledged."""
        return self._cap

    @property
    def in_flight(self) -> int:
        return self.nxt - self.una

    @property
    def state(self) -> WindowState:
        return WindowState(
            self.una, self.nxt, self.recovering, self._recover_to, self._again, self._is_due, self._arrived
        )

    @state.setter
    def state(self, state: WindowState) -> None:
        self.una, self.nxt, self.recovering, self._recover_to, self._again, self._is_due, self._arrived = state

    def upcoming(self, end: int) -> int | None:
        """What leaves next, when everything in front of `end` was posted; below `nxt` it left before."""
        if self._is_due and self._again >= self.una:
            return self._again
        return self.nxt if self.nxt < end and self.in_flight < self._cap else None

    def left(self, sequence: int) -> None:
        """What `upcoming` said."""
        if sequence == self.nxt:
            self.nxt += 1
            return
        if sequence == self.una:
            self.recovering, self._recover_to = True, self.nxt - 1
        self._schedule_hole()

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        """An answer about a packet that left. `cumulative`: the receiver has everything in front of it. Whether that is
        new."""
        new = cumulative - self.una
        if new > 0:
            self._arrived >>= new
            self.una = cumulative
        if self.recovering and cumulative > self._recover_to:
            self.recovering = False
        if is_gap:
            self._arrived |= 1 << selective - self.una if selective > self.una else 0
            if not self.recovering:
                if new == 0:
                    self.schedule_oldest()
            elif (self._is_due and self._again == selective) or (
                not self._is_due and selective - self.una == self._arrived.bit_length() - 1
            ):
                self._schedule_hole()
        if self.recovering and new > 0 and self._again < self.una and (self._in_order or self._arrived):
            self.schedule_oldest()
        return new > 0

    def schedule_oldest(self) -> None:
        """Send the oldest unacknowledged packet again, once it is its turn."""
        self._again, self._is_due = self.una, True

    def _schedule_hole(self) -> None:
        """The lowest hole above `_again`, if there is one below a packet that arrived."""
        start = max(self._again + 1, self.una) - self.una
        lacking = ~(self._arrived >> start)
        hole = start + (lacking & -lacking).bit_length() - 1
        self._is_due = hole < self._arrived.bit_length()
        if self._is_due:
            self._again = self.una + hole
