"""Frames at a planned rate: each may leave when those before it, at that rate, are over."""

from __future__ import annotations

import cython

if not cython.compiled:
    from math import ceil

__all__ = ["Pace"]

_SECOND_BITS = 8 * 10**9
_AT_ONCE = -(1 << 62)
"""a time before all others, also those that a slow clock shows"""


class Pace:
    """Times in ns, kept as fractions so that the rate is exact in the long run. 0 bits per second: no limit.
    `catch_up_ns`: what a sender that woke up late may make good at once; more would be a burst that no plan has room
    for."""

    def __init__(self, rate_bps: float, catch_up_ns: int) -> None:
        self.rate_bps, self._catch_up_ns = rate_bps, catch_up_ns
        self._begun = False
        self._due = 0.0

    def set_rate(self, rate_bps: float, now: int) -> None:
        """Set the rate from now on; rate that was not used before is lost."""
        self.rate_bps = rate_bps
        self.start(now)

    def due(self) -> int:
        """When the next frame may leave."""
        return ceil(self._due) if self.rate_bps and self._begun else _AT_ONCE

    def start(self, now: int) -> None:
        """Nothing was to be sent until now."""
        self._since(float(now), float(now))

    def charge(self, frame_bytes: int, now: int) -> None:
        """A frame leaves."""
        if self.rate_bps:
            self._since(float(now), float(now - self._catch_up_ns))
            self._due += frame_bytes * _SECOND_BITS / self.rate_bps

    def _since(self, first: float, least: float) -> None:
        """Let the next frame leave at `first` if there was none before, and otherwise not before `least`."""
        if not self._begun:
            self._due, self._begun = first, True
        elif self._due < least:
            self._due = least
