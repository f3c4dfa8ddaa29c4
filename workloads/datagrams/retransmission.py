"""How long a sender of datagrams waits for a result before it asks again.

`RetransmissionTimer`: for packets whose repetition takes the same path as the first attempt. Source: the worker of
SwitchML's public implementation (protocol text, section 2.2): a fixed wait that doubles after 100 unanswered attempts,
and after every further 100. Decided here: the wait is never shorter than four measured round trips.

`BackoffTimer`: for repetitions that take another path. All of ATP's go to one server, and too many of them make its
queue longer. Source: RFC 6298 for the doubling, Karn's rule and the mean; the factor of four and the least wait as
above.

After many unanswered waits the next wait is drawn again each time, from its upper half. `BackoffTimer` does so at the
longest wait, `RetransmissionTimer`, with a seed, after eight attempts. Senders with equal waits would meet the same
full queue for ever, and it would turn the same one away. See Floyd and Jacobson, On traffic phase effects in
packet-switched gateways, 1992.
"""

from __future__ import annotations

__all__ = ["BackoffTimer", "RetransmissionTimer"]

_TIMEOUTS_PER_DOUBLING = 100
_MOST_DOUBLINGS = 6
_ROUND_TRIPS = 4
_MOST_WAITS = 16
"""limit of the wait in units of the least wait: when most packets are lost, the typical round trip contains a timer,
which would grow for ever"""
_STEPS = 16
"""of the typical round trip"""
_STEADY = 8
"""attempts"""
_MULTIPLIER, _INCREMENT, _DRAW_BITS = 6364136223846793005, 1442695040888963407, 64
"""Knuth's linear congruential generator MMIX (The Art of Computer Programming 2, 3.3.4); its upper bits are used"""


class _Draw:
    def __init__(self, seed: int) -> None:
        self._drawn = seed

    def shorten(self, wait: int) -> int:
        """Shorten a wait by up to a half."""
        self._drawn = (self._drawn * _MULTIPLIER + _INCREMENT) % (1 << _DRAW_BITS)
        return wait - (wait // 2 * (self._drawn >> _DRAW_BITS // 2) >> _DRAW_BITS // 2)


class RetransmissionTimer:
    """The timer of one sender; `seed`: must differ from that of its peers. Times in ns."""

    def __init__(self, rto_ns: int, seed: int | None = None) -> None:
        """`seed` None: nothing is drawn, as in SwitchML's worker."""
        self._rto_ns = rto_ns
        self._round_trip_ns = 0
        self._draw = None if seed is None else _Draw(seed)

    def wait(self, attempts: int) -> int:
        """For a packet that left `attempts` times before."""
        wait = min(max(self._rto_ns, _ROUND_TRIPS * self._round_trip_ns), _MOST_WAITS * self._rto_ns)
        wait <<= min(attempts // _TIMEOUTS_PER_DOUBLING, _MOST_DOUBLINGS)
        return wait if self._draw is None or attempts < _STEADY else self._draw.shorten(wait)

    def measure(self, took_ns: int) -> None:
        """Follow the median by small steps. The mean would not do. A packet that any worker lost comes back late for
        all, and a timer that grew with every loss would make losses longer. All packets count from when they first
        left. Without the repeated ones, a timer that is too short would stay too short."""
        typical = self._round_trip_ns
        if not typical:
            self._round_trip_ns = took_ns
        elif took_ns != typical:
            step = typical // _STEPS
            self._round_trip_ns = typical + (step if took_ns > typical else -step)


_SMOOTHING = 8
_MOST_BACKOFF = 4
_LONG_AGO = -(1 << 62)


class BackoffTimer:
    """The timer of one sender; `seed`: must differ from that of its peers. Times in ns."""

    def __init__(self, rto_ns: int, seed: int = 0) -> None:
        self._rto_ns = rto_ns
        self._draw = _Draw(seed)
        self._round_trip_ns = self._backoff = 0
        self._hold_until = _LONG_AGO

    def wait(self) -> int:
        """For any packet that leaves now."""
        return self._drawn(self._longest())

    def wait_for_copy(self) -> int:
        """For a packet that is resent because a later one has its result. All workers sent theirs, so the answer takes
        no longer than the least wait. Measured round trips also contain the wait for other workers."""
        return self._drawn(self._rto_ns << self._backoff)

    def _drawn(self, longest: int) -> int:
        return longest if self._backoff < _MOST_BACKOFF else self._draw.shorten(longest)

    def _longest(self) -> int:
        return min(max(self._rto_ns, _ROUND_TRIPS * self._round_trip_ns), _MOST_WAITS * self._rto_ns) << self._backoff

    def expired(self, now: int) -> bool:
        """Packets timed out: double the wait, but only once for all packets that left before. Returns whether this was
        the first of them."""
        if now < self._hold_until:
            return False
        self._backoff = min(self._backoff + 1, _MOST_BACKOFF)
        self._hold_until = now + self._longest()
        return True

    def measure(self, took_ns: int) -> None:
        """Only for a packet that left once: of others it is unknown which copy was answered (Karn, Partridge, 1987)."""
        self._backoff = 0
        typical = self._round_trip_ns
        self._round_trip_ns = typical + (took_ns - typical) // _SMOOTHING if typical else took_ns
