"""Which retransmission timers reliable connections take on a path (IBTA vol. 1, 9.7.6.1.3; docs/irn.md)."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.transports.timing import TimerKey, TimerNeed, rounded_ns
from workloads.wire.envelope import ETHERNET, IPV4, UDP
from workloads.wire.headers import Aeth, Bth, Sack
from workloads.wire.icrc import ICRC_BYTES

__all__ = ["ANSWER_BYTES", "UNASKED_PACKETS", "rc_span", "rc_timer_keys", "rc_timer_values"]

ANSWER_BYTES = sum(each.size for each in (ETHERNET, IPV4, UDP, Bth.LAYOUT, Aeth.LAYOUT, Sack.LAYOUT)) + ICRC_BYTES
"""of an answer of IRN over IPv4; an ACK has fewer"""
UNASKED_PACKETS = 64
_MARGIN = 2
"""RTO_high in worst round trips"""
_RC_MARGIN = 3
"""the timeout likewise: connections give up after some, and while one of them recovers, those wait whose sums need
it"""
_SLOWED = 4
"""as many times as that where congestion control cuts rates"""
_LOW_TRIPS = 2
"""RTO_low in round trips over empty queues. RTO_high is 3.2 times RTO_low, but no more than `_MARGIN` worst round
trips; through queues that must build up, no less than one. Where most of the trip is such a queue, it is up to
`_RC_MARGIN` (docs/irn.md)"""
_UNIT_NS = 4_096
_MOST_CODE = 31
_REAL_CODE, _REAL_LOW_NS = 15, 3_000_000
"""least values with real processors and firmware in the way"""


def rc_timer_keys(*, resends_alone: bool) -> tuple[TimerKey, ...]:
    timeout = TimerKey("timeout", "timeout_code", is_code=True, is_repeat=not resends_alone)
    low, high = TimerKey("rto_low", "rto_low_ns"), TimerKey("rto_high", "rto_high_ns")
    return (timeout, low, high) if resends_alone else (timeout,)


def rc_span(code: int) -> int:
    """4.096 us * 2^code; 0 (never) for code 0."""
    return _UNIT_NS << code if code else 0


def rc_timer_values(need: TimerNeed) -> Mapping[str, int]:
    trip = need.trip
    margin = _RC_MARGIN * (_SLOWED if need.cuts_rates else 1)
    # Connections give up after some timeouts: these cover as many waits of the processes on the way.
    wanted = max(margin * trip.queueing_ns + trip.slower_ns, need.processor_ns)
    code = next((code for code in range(1, _MOST_CODE) if _UNIT_NS << code >= wanted), _MOST_CODE)
    values = {"timeout_code": max(code, _REAL_CODE if need.is_real else 0)}
    if not need.resends_alone:
        return values
    calm = _LOW_TRIPS * trip.empty_ns + min(need.others_ns, trip.queued_ns)
    calm = need.low_ns or max(rounded_ns(calm), _REAL_LOW_NS if need.is_real else 0)
    low = rounded_ns(calm + trip.slower_ns)
    low = need.low_ns or (low if need.high_ns is None else min(low, need.high_ns))
    margin = _RC_MARGIN if trip.built_up_ns > trip.empty_ns else _MARGIN
    high = max(min(calm * 16 // 5, margin * trip.queueing_ns), trip.congested_ns) + trip.slower_ns
    return values | {"rto_low_ns": low, "rto_high_ns": max(low, rounded_ns(high))}
