"""Retransmission timers, as a transport chooses them for a path: values only. Times are in ns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LEAST_RTO_NS", "RoundTrip", "TimerKey", "TimerNeed", "rounded_ns"]

LEAST_RTO_NS = 10_000
"""below, workers send little but copies until they know what a round trip takes"""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Of a full packet and its answer, at worst."""

    empty_ns: int = 0
    """Wires, and each node's time to act, on the longest way."""
    queued_ns: int = 0
    """The wait behind all that may be under way on the busiest link."""
    slower_ns: int = 0
    """The wait for the slowest worker of a sum."""
    built_up_ns: int = 0
    """The part of `queued_ns` on links that are sent more than their rate, where a sum waits: these queues build up
    without any loss."""

    @property
    def congested_ns(self) -> int:
        return self.empty_ns + self.built_up_ns if self.built_up_ns else 0

    @property
    def queueing_ns(self) -> int:
        return self.empty_ns + self.queued_ns

    @property
    def worst_ns(self) -> int:
        return self.queueing_ns + self.slower_ns


@dataclass(frozen=True, slots=True)
class TimerNeed:
    """What timers follow from."""

    trip: RoundTrip
    others_ns: float = 0.0
    """The wait behind other connections on the busiest link, when each has a round trip's worth under way."""
    is_real: bool = False
    """Towards hosts and devices of a lab, or RDMA devices: their processors and firmware take milliseconds that no link
    rate shows."""
    cuts_rates: bool = False
    """Congestion control may slow senders down."""
    processor_ns: int = 0
    """The longest wait of one process for a processor, where nodes are processes that share a few."""
    resends_alone: bool = False
    """Only what is missing is sent again (IRN)."""
    low_ns: int | None = None
    """`rto_low_ns` of the scenario, if it gives one."""
    high_ns: int | None = None
    """`rto_high_ns` likewise."""


@dataclass(frozen=True, slots=True)
class TimerKey:
    """A timer of a transport, as the section `transport` of a scenario has it."""

    key: str
    """as `rto`"""
    field: str
    """as `rto_ns`"""
    is_code: bool = False
    """The value is a code of the transport, not a span (`TransportKind.span_of`)."""
    is_repeat: bool = True
    """It has packets sent again; False: after some of it the sender gives up."""


def rounded_ns(ns: float) -> int:
    """Up to three digits."""
    unit = 10 ** max(0, len(str(round(ns))) - 3)
    return int(-(-round(ns) // unit) * unit)
