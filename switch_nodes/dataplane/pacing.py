"""The pace of a NIC: frames leave the Machine no faster than the link carries them, in a few bursts per millisecond.

The qdisc below enforces the rate; it is HTB, whose tokens let `burst_bytes` pass at once. A sender that keeps the same
account seldom makes it wait, so the kernel needs no timer per packet, frames of this host do not queue in front of its own
ACKs, and a NAK turns the sender back at once. Virtual scheduling as in the generic cell rate algorithm (ITU-T I.371).
"""

from __future__ import annotations

__all__ = ["Pacer", "moderation_ns"]

_MOST_MODERATION_NS = 1_000_000
_LEAST_COVER_NS = 9_000_000
_HEADROOM_PERCENT = 1
"""Without it the tokens of the qdiscs on the way would be used up, and each would need a timer for each packet."""
_SECOND_BITS = 8 * 10**9


def moderation_ns(rate_bps: int, burst_bytes: int) -> int:
    """How long one may sleep while sending without leaving the link idle: a third of what burst and lead cover."""
    burst_ns = burst_bytes * _SECOND_BITS // rate_bps
    return min(_MOST_MODERATION_NS, max(burst_ns, _LEAST_COVER_NS) // 3)


class Pacer:
    """`now` is the time of the data plane, in ns."""

    def __init__(self, rate_bps: int, burst_bytes: int) -> None:
        self._rate_bps = rate_bps * (100 - _HEADROOM_PERCENT) // 100
        self.moderation_ns = moderation_ns(rate_bps, burst_bytes)
        self._burst_ns = burst_bytes * _SECOND_BITS // rate_bps
        # At fast rates the burst is over before a busy machine wakes us again: then some frames wait in the qdisc.
        self._lead_ns = max(0, _LEAST_COVER_NS - self._burst_ns)
        self._idle_at: int | None = None  # when the link will have carried all that left

    def frames(self, now: int, frame_bytes: int) -> int:
        """How many frames of that size may leave now; the last one may overdraw the account."""
        credit_ns = self._burst_ns if self._idle_at is None else min(self._burst_ns, now - self._idle_at)
        credit_ns += self._lead_ns
        if credit_ns <= 0:
            return 0
        return 1 + credit_ns * self._rate_bps // _SECOND_BITS // frame_bytes

    def spend(self, now: int, sent_bytes: int) -> None:
        """So many bytes left."""
        earliest = now - self._burst_ns
        idle_at = earliest if self._idle_at is None else max(self._idle_at, earliest)
        self._idle_at = idle_at + sent_bytes * _SECOND_BITS // self._rate_bps
