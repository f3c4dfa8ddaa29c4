"""GRID's window control (Fang et al., IEEE/ACM ToN 31(5), 2023, section 5).

A packet whose sum came back opens the window by one packet up to a threshold. A RATE packet comes from a switch whose
slot was taken: it halves the window and makes that the threshold.

Decided here:

- Above the threshold the window grows by one packet per window, as TCP's does (RFC 5681). A window that could never
  grow again would not find the rate of a new plan.
- One round of RATE packets halves the window once, and so does one round of timeouts.
- A packet without a result in time is resent when it is inside the window, as with TCP. Packets that left in a larger
  window would keep a queue full.
- A result shows a loss only of earlier packets of its way. Switches differ in how long they take, so results of
  different ways arrive in any order.
- A fragment that switches refused several times in a row goes around the switch.
- A timer resends all packets that waited too long, as far as the window goes: a result from one switch says nothing
  about the others.
"""

from __future__ import annotations

from workloads.atp.window import GAP, SendWindow
from workloads.grid.config import SERVER, NodeShare
from workloads.grid.node_shares import ShareTable

__all__ = ["GridWindow"]

_MOST_REFUSALS = 4
_AT_ONCE = ("nack", "rate")
"""a node waits for these packets, or could not take them when it was asked to"""


class GridWindow(SendWindow):
    """`window` is the largest. `first`: packets that may be outstanding at first; with None always the largest (paced
    senders). A subclass may override what has no underscore."""

    def __init__(self, window: int, rto_ns: int, *, first: int | None, seed: int = 0) -> None:
        SendWindow.__init__(self, window, rto_ns, aimd=False, seed=seed)
        self._probes = False
        self._controlled = first is not None
        self.threshold = window
        self._grown = 0
        """results since the window grew last, above the threshold"""
        self._halved_before = 0
        """packets below that left before the window was halved"""
        self._refusals: dict[int, int] = {}
        self._shares = ShareTable([[NodeShare(SERVER, 1.0)]])
        self._top: dict[int, int] = {}
        """last packet with a result, by way"""
        if first is not None:
            self.size = min(first, window)

    def follow(self, shares: ShareTable) -> None:
        """Follow a plan. All outstanding packets leave again, in order, on its ways."""
        self._shares = shares
        self._top.clear()

    def refuse(self, packet: int) -> None:
        """A switch had no slot for an outstanding packet: it leaves again."""
        times = self._refusals.get(packet, 0) + 1
        self._refusals[packet] = times
        self.ask_again(packet, "timeout" if times >= _MOST_REFUSALS else "rate")
        if packet >= self._halved_before:
            self._halve()

    def _overtook(self, packet: int) -> None:
        way = self._shares.way_of(packet)
        before = max(self._top.get(way, -1) + 1, self.base)
        for missing in range(before, packet):
            if self._shares.way_of(missing) == way and self.is_outstanding(missing):
                self.ask_again(missing, GAP)
        if packet >= before:
            self._top[way] = packet

    def waited_in_vain(self) -> None:
        self._halve()

    def may_repeat(self, packet: int, cause: str) -> bool:
        return not self._controlled or packet < self.base + self.size or cause in _AT_ONCE

    def _halve(self) -> None:
        if self._controlled:
            self.size = self.threshold = self.size // 2 if self.size > 1 else 1
            self._halved_before = self.next

    def settle(self, packet: int, now: int) -> None:
        if self._refusals:
            self._refusals.pop(packet, None)
        SendWindow.settle(self, packet, now)
        if not self._controlled or self.size >= self.window:
            return
        self._grown += 1
        if self.size < self.threshold or self._grown >= self.size:
            self.size, self._grown = self.size + 1, 0
