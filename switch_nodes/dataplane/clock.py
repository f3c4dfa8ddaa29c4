"""Emulated time: the clock of the machine, slowed down.

With a dilation of k, one second of emulated time takes k seconds of real time (Gupta et al., "To Infinity and Beyond:
Time-Warped Network Emulation", NSDI 2006). Time is handed to every Machine, so all that must be dilated is
this clock, and the rates that the kernel keeps. A process has one clock and uses no other.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["EmulatedClock"]

_SECOND_NS = 10**9


class EmulatedClock:
    """Instants of real time are ns of CLOCK_MONOTONIC; emulated time counts from a real instant, the origin. `read` and
    `sleep` (of seconds) are those of the machine, unless a test has others."""

    def __init__(
        self,
        dilation: int = 1,
        *,
        read: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.dilation, self.read, self._sleep = dilation, read, sleep

    def since(self, origin_ns: int) -> int:
        """Emulated ns since a real instant; negative before it."""
        return (self.read() - origin_ns) // self.dilation

    def real(self, span_ns: int) -> int:
        """Real ns that an emulated span takes."""
        return span_ns * self.dilation

    def emulated(self, span_ns: int) -> int:
        """Emulated ns that pass in a real span."""
        return span_ns // self.dilation

    def real_bps(self, rate_bps: int) -> int:
        """What the kernel must keep, so that it is `rate_bps` in emulated time."""
        return rate_bps // self.dilation

    def sleep(self, span_ns: int) -> None:
        """For an emulated span."""
        self._sleep(span_ns * self.dilation / _SECOND_NS)
