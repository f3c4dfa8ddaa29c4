"""DCQCN as a scenario asks for it -> its parameters on one link.

Published parameters belong to 40 Gb/s. On a slower link a packet lasts longer, so that the same timers would see hardly
any packet between two of their deadlines. The time scale s says how much longer. Every timer is multiplied by it, and
every step of the rate keeps its share of the line rate. A packet lasts as many timers as it does on the fast link.
"""

from __future__ import annotations

from testbed.scenario.model import DcqcnOptions
from workloads.config import DcqcnConfig

__all__ = ["REFERENCE_BPS", "scaled_dcqcn", "time_scale"]

REFERENCE_BPS = 40_000_000_000
_TIMER_NS = 55_000
"""T and T_alpha"""
_CNP_INTERVAL_NS = 50_000
_CUT_PERIOD_NS = 4_000
_BYTE_COUNTER = 10_000_000
_ADDITIVE_BPS = 40_000_000
_HYPER_STEPS = 5
"""R_HAI in steps of R_AI"""
_LEAST_SHARE = 100
"""the least rate is this part of the line's: a sender is slow then, and still heard of within a retransmission
timeout"""
_BURST_PACKETS, _MOST_BURST_NS = 16, 2_000_000
"""Real machines need two milliseconds between wake-ups; no burst is longer, nor than so many packets."""
_HEADERS = 74
"""of a full data packet: Ethernet, IPv4, UDP, BTH, RETH, iCRC"""


def time_scale(options: DcqcnOptions, line_rate_bps: int) -> float:
    """s: as given, or the time of a packet on this link over its time at 40 Gb/s."""
    return REFERENCE_BPS / line_rate_bps if options.time_scale is None else options.time_scale


def scaled_dcqcn(options: DcqcnOptions, line_rate_bps: int, path_mtu: int) -> DcqcnConfig:
    """`line_rate_bps`: of the sender's link."""
    scale = time_scale(options, line_rate_bps)
    share = line_rate_bps / REFERENCE_BPS

    def chosen(given: int | None, default: float) -> int:
        return max(1, round(default)) if given is None else given

    burst_ns = min(_MOST_BURST_NS, _BURST_PACKETS * (path_mtu + _HEADERS) * 8 * 10**9 // line_rate_bps)
    return DcqcnConfig(
        line_rate_bps=line_rate_bps,
        min_rate_bps=min(line_rate_bps, chosen(options.min_rate_bps, line_rate_bps / _LEAST_SHARE)),
        additive_bps=chosen(options.additive_bps, _ADDITIVE_BPS * share),
        hyper_bps=chosen(options.hyper_bps, _HYPER_STEPS * _ADDITIVE_BPS * share),
        alpha_timer_ns=chosen(options.alpha_timer_ns, _TIMER_NS * scale),
        increase_timer_ns=chosen(options.increase_timer_ns, _TIMER_NS * scale),
        byte_counter_bytes=chosen(options.byte_counter_bytes, _BYTE_COUNTER * share * scale),
        cnp_interval_ns=chosen(options.cnp_interval_ns, _CNP_INTERVAL_NS * scale),
        cut_period_ns=chosen(options.cut_period_ns, _CUT_PERIOD_NS * scale),
        gain=options.gain,
        recovery_steps=options.recovery_steps,
        burst_ns=chosen(options.burst_ns, burst_ns),
    )
