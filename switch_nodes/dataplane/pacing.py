"""The pace of a NIC: frames leave the Machine no faster than the link carries them, in a few bursts per millisecond.

A NAK cannot recall a frame that has left the Machine, and an ACK waits behind it. So at most `ahead_ns` of the link and
one frame leave ahead, as in the ring of a real NIC. A wire saves up nothing while no frame is sent. But when frames
waited and this process came too late to send them, the wire would have carried them. Then the pacer lets that much more
out, up to the burst that the qdisc below passes at once (HTB). All times are emulated. Virtual scheduling as in the
generic cell rate algorithm (ITU-T I.371).
"""

from __future__ import annotations

__all__ = ["AHEAD_NS", "Pacer", "moderation_ns"]

AHEAD_NS = 1_000_000
"""what a NIC holds at most"""
_HEADROOM_PERMILLE = 2
"""Without it the tokens of the qdiscs on the way would stay used up, and each would need a timer for each packet."""
_SECOND_BITS = 8 * 10**9


def moderation_ns(ahead_ns: int) -> int:
    """How long one may sleep while sending without leaving the link idle: half of what a NIC holds."""
    return ahead_ns // 2


class Pacer:
    """`now` is the time of the data plane, in ns. `burst_bytes`: of the qdisc below. Without anything ahead frames
    leave one by one, at the rate of the link; else a little slower."""

    def __init__(self, rate_bps: int, burst_bytes: int, ahead_ns: int = AHEAD_NS) -> None:
        self._rate_bps = rate_bps * (1000 - _HEADROOM_PERMILLE) // 1000 if ahead_ns else rate_bps
        self._burst_ns = burst_bytes * _SECOND_BITS // rate_bps
        self._ahead_ns = ahead_ns
        self._idle_at = 0  # when the link will have carried all that left
        self._backlog = False
        self.starved_ns = 0
        """time in which the link was idle although frames waited, beyond what the burst makes up for"""

    @property
    def go_on_at(self) -> int:
        """When to come again with more frames: half of what may be ahead is left then."""
        return self._idle_at - self._ahead_ns // 2

    def frames(self, now: int, frame_bytes: int) -> int:
        """How many frames of that size may leave now; the last one may overdraw the account."""
        credit_ns = now - max(self._idle_at, self._earliest(now)) + self._ahead_ns
        if credit_ns < 0:
            return 0
        return 1 + credit_ns * self._rate_bps // _SECOND_BITS // frame_bytes

    def spend(self, now: int, sent_bytes: int, *, more: bool) -> None:
        """So many bytes left; `more`: there were others that had to stay."""
        idle_at = max(self._idle_at, self._earliest(now))
        if self._backlog:
            self.starved_ns += idle_at - self._idle_at
        self._idle_at = idle_at + sent_bytes * _SECOND_BITS // self._rate_bps
        self._backlog = more

    def _earliest(self, now: int) -> int:
        return now - self._burst_ns if self._backlog else now
