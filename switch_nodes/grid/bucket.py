"""The aggregation capacity of a switch: a token bucket on the bytes that it adds (protocol text, section 1.5)."""

from __future__ import annotations

from math import inf

__all__ = ["TokenBucket"]

_SECOND_BITS = 8 * 10**9


class TokenBucket:
    """Virtual scheduling as in the generic cell rate algorithm (ITU-T I.371). Full at first. Times in ns, kept as
    fractions so that the rate is exact in the long run. A rate of 0 takes nothing."""

    def __init__(self, rate_bps: float, depth_ns: int) -> None:
        self._rate_bps, self._depth_ns = rate_bps, depth_ns
        self._busy_until = -inf
        """time when all that was taken will have been worked off"""

    def take(self, size: int, now: int) -> bool:
        """Whether there are tokens for so many bytes, which are then gone."""
        if not self._rate_bps:
            return False
        begin = self._busy_until if self._busy_until > now else float(now)
        until = begin + size * _SECOND_BITS / self._rate_bps
        if until - now > self._depth_ns:
            return False
        self._busy_until = until
        return True
