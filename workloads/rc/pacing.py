"""A sender held to a rate: virtual scheduling, as in the generic cell rate algorithm (ITU-T I.371), in bursts.

A gate that let one packet out per deadline would need a wake-up for each. This gate opens for `burst_ns` worth of
packets. So it needs few wake-ups, and its average is still the rate. With a burst of 0 it opens for single packets.
"""

from __future__ import annotations

__all__ = ["PacingGate"]

_BITS_NS = 8 * 10**9


class PacingGate:
    """Times in ns. The gate is open at first, with nothing to wait for."""

    def __init__(self, burst_ns: int) -> None:
        self._burst_ns = burst_ns
        self._paid_at: int | None = None
        """time when the sent packets are paid for"""
        self._open_until = 0
        """limit for `_paid_at`: the gate stays open while `_paid_at` is before it"""
        self._remainder = 0

    def is_open(self, now: int) -> bool:
        paid_at = self._paid_at
        return paid_at is None or paid_at <= now or paid_at < self._open_until

    def spend(self, size: int, rate_bps: int, now: int) -> int | None:
        """A packet of `size` bytes left through the open gate, at that rate. When the gate opens again; None: it is
        open."""
        if self._paid_at is None:
            self._paid_at = now
        if self._paid_at <= now:
            self._open_until = now + self._burst_ns
            # A sender that wakes up late makes up for it, but for no more than one burst.
            self._paid_at = max(self._paid_at, now - self._burst_ns)
        duration, self._remainder = divmod(size * _BITS_NS + self._remainder, rate_bps)
        self._paid_at += duration
        return None if self.is_open(now) else self._paid_at

    def forget(self) -> None:
        """Reset to the first state."""
        self._paid_at, self._open_until, self._remainder = None, 0, 0
