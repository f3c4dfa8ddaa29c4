"""The retransmission timers of a plan as values, and what they are measured against (`testbed.plan.auto_timers`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.terminal.numbers import seconds
from workloads.transports.timing import RoundTrip

__all__ = ["MOST_TIMES", "Timer", "Timers"]

MOST_TIMES = 10
"""A timer that is longer than so many worst round trips deserves a warning."""
_FOR_FEW = "rto_low"


@dataclass(frozen=True, slots=True)
class Timer:
    """One retransmission timer of a protocol."""

    key: str
    """Key of `transport`."""
    ns: int
    """0: never."""
    shown: str
    is_auto: bool
    is_repeat: bool
    """The timer has packets sent again; False: after some of it the sender gives up."""


@dataclass(frozen=True, slots=True)
class Timers:
    """Of the jobs of one protocol."""

    trip: RoundTrip = RoundTrip()
    each: tuple[Timer, ...] = ()
    processor_ns: int = 0
    """As `TimerNeed.processor_ns`."""

    def warnings(self) -> Iterator[str]:
        """About values that a file fixes, with both numbers."""
        trip, worst_ns = self.trip, self.trip.worst_ns
        worst = f"the worst queueing round trip ({seconds(trip.queueing_ns / 1e9)})"
        slower = f" and the wait for the slowest worker ({seconds(trip.slower_ns / 1e9)})" if trip.slower_ns else ""
        for timer in self.each:
            if timer.is_auto or not timer.ns:
                continue
            what = f"transport.{timer.key}: {timer.shown}"
            if timer.key == _FOR_FEW and timer.ns < trip.empty_ns:
                yield f"{what} is below a round trip over empty queues ({seconds(trip.empty_ns / 1e9)}): {_TOO_SHORT}"
            elif timer.key != _FOR_FEW and timer.ns < trip.queueing_ns:
                yield f"{what} is below {worst}: {_TOO_SHORT}"
            elif timer.is_repeat and timer.ns > MOST_TIMES * worst_ns:
                yield f"{what} is {timer.ns / worst_ns:,.0f} times {worst}{slower}: {_TOO_LONG}"

    @property
    def document(self) -> dict[str, object]:
        """As in result.json and `tb validate --json`."""
        return {
            "round_trip_ns": self.trip.empty_ns,
            "queueing_ns": self.trip.queued_ns,
            "slowest_worker_ns": self.trip.slower_ns,
            "worst_round_trip_ns": self.trip.queueing_ns,
            "processor_ns": self.processor_ns,
            "each": {timer.key: {"ns": timer.ns, "shown": timer.shown, "auto": timer.is_auto} for timer in self.each},
            "warnings": list(self.warnings()),
        }


_TOO_SHORT = "packets that are not lost are sent again; `auto` is long enough"
_TOO_LONG = "a loss that no answer shows costs that long; `auto` follows the links"
