"""Headroom of PFC: the bytes that may still come in after a switch has decided to pause its neighbour.

Sources of the terms: IEEE 802.1Qbb annex O. Response times: IEEE 802.3 annex 31B (below 10 Gbit/s from memory).
"""

from __future__ import annotations

from workloads.wire.pfc import FRAME_BYTES

__all__ = ["exact_headroom", "response_bits", "response_ns", "two_way_headroom"]

_RESPONSE_BITS = (
    (100_000_000, 512),
    (1_000_000_000, 1_024),
    (10_000_000_000, 30_720),
    (25_000_000_000, 40_960),
    (40_000_000_000, 60_416),
    (100_000_000_000, 201_728),
    (400_000_000_000, 463_360),
)
"""(rate up to which it holds, bit times): a rate between two rows takes the next higher row (decided here)"""
_BITS_NS = 8 * 1_000_000_000


def response_bits(rate_bps: int) -> int:
    """Bit times in which a station must have stopped after a pause frame came, beyond the frame in service."""
    return next((bits for rate, bits in _RESPONSE_BITS if rate_bps <= rate), _RESPONSE_BITS[-1][1])


def response_ns(rate_bps: int) -> int:
    """The same as a time, rounded up."""
    return -(-response_bits(rate_bps) * 1_000_000_000 // rate_bps)


def exact_headroom(rate_bps: int, delay_ns: int, frame_bytes: int, response_time_ns: int) -> int:
    """Bytes of headroom that lose nothing, of one port and class, with frames of at most `frame_bytes`.

    In the worst phase the switch has just begun a frame of its own on the way back, then sends the PFC frame. Both
    directions take `delay_ns` each. The neighbour goes on for the response time and then has just begun a frame. The
    frame that crossed the threshold is in the headroom as well, since the test comes after it was added. Frames of
    this testbed have no preamble, gap and FCS, so neither has this sum.
    """
    in_time = -(-(2 * delay_ns + response_time_ns) * rate_bps // _BITS_NS)
    return frame_bytes + FRAME_BYTES + in_time + frame_bytes + frame_bytes


def two_way_headroom(rate_bps: int, delay_ns: int, times: int, extra_bytes: int) -> int:
    """`times` x delay x rate + extra bytes: the rule of thumb of two published simulators (docs/lossless.md)."""
    return -(-times * delay_ns * rate_bps // _BITS_NS) + extra_bytes
