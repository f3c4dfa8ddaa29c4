"""Frames at a planned rate: each one is due when those before it, at that rate, are over."""

from __future__ import annotations

import math

__all__ = ["Pace"]

_SECOND_BITS = 8 * 10**9


class Pace:
    """Times in ns, kept as fractions so that the rate is exact in the long run. 0 bits per second: no limit.
    `catch_up_ns`: what a sender that woke up late may make good at once; more would be a burst that no plan has room
    for."""

    def __init__(self, rate_bps: float, catch_up_ns: int) -> None:
        self.rate_bps, self._catch_up_ns = rate_bps, catch_up_ns
        self._due: float | None = None

    def set_rate(self, rate_bps: float, now: int) -> None:
        """From now on; what was not used before is lost."""
        self.rate_bps = rate_bps
        self.start(now)

    @property
    def due(self) -> int | None:
        """When the next frame may leave. None: at once; times may be negative, so that no number says that."""
        return math.ceil(self._due) if self.rate_bps and self._due is not None else None

    def start(self, now: int) -> None:
        """Nothing was to be sent until now."""
        self._due = float(now) if self._due is None else max(self._due, float(now))

    def charge(self, frame_bytes: int, now: int) -> None:
        """A frame leaves."""
        if self.rate_bps:
            since = float(now) if self._due is None else max(self._due, float(now - self._catch_up_ns))
            self._due = since + frame_bytes * _SECOND_BITS / self.rate_bps
