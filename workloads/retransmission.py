"""How long a sender of datagrams waits for a result before it asks again.

Source: the worker of SwitchML's public implementation (protocol text, section 2.2): a fixed wait that doubles after 100
attempts in vain, and every further 100. Decided here: never less than four round trips, as they were measured.
"""

from __future__ import annotations

__all__ = ["RetransmissionTimer"]

_TIMEOUTS_PER_DOUBLING = 100
_MOST_DOUBLINGS = 6
_ROUND_TRIPS = 4
_MOST_WAITS = 16
"""when most packets are lost somewhere, the typical round trip holds a timer, which would grow for ever"""
_STEPS = 16
"""of the typical round trip"""


class RetransmissionTimer:
    """Of one sender. Times in ns."""

    def __init__(self, rto_ns: int) -> None:
        self._rto_ns = rto_ns
        self._round_trip_ns = 0

    def wait(self, attempts: int) -> int:
        """For a packet that left `attempts` times before."""
        wait = min(max(self._rto_ns, _ROUND_TRIPS * self._round_trip_ns), _MOST_WAITS * self._rto_ns)
        return wait << min(attempts // _TIMEOUTS_PER_DOUBLING, _MOST_DOUBLINGS)

    def measure(self, took_ns: int) -> None:
        """Follow the median by small steps. Not the mean: a packet that any worker lost comes back late for all of them, and
        a timer that grew with every loss would make the losses longer. All packets count, from when they first left: without
        the repeated ones a timer that is too short would stay so."""
        typical = self._round_trip_ns
        if not typical:
            self._round_trip_ns = took_ns
        elif took_ns != typical:
            self._round_trip_ns = max(1, typical + (typical // _STEPS if took_ns > typical else -(typical // _STEPS)))
