"""DCQCN as a scenario asks for it -> its parameters on one link.

Published parameters belong to one line rate, those of the paper to 40 Gb/s. On a slower link a packet lasts longer, so
that the same timers would see hardly any packet between two of their deadlines. The time scale s says how much longer.
Every timer is multiplied by it, and every step of the rate keeps its share of the line rate. A packet lasts as many
timers as it does on the fast link.
"""

from __future__ import annotations

from dataclasses import dataclass

from testbed.scenario.model import DcqcnOptions
from workloads.config import DcqcnConfig
from workloads.rc.transport import RELIABLE
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["PRESETS", "REFERENCE_BPS", "DcqcnPreset", "scaled_dcqcn", "time_scale"]

REFERENCE_BPS = 40_000_000_000
_NO_COUNTER = 1 << 40
"""bytes that no flow sends: the simulators raise the rate by their timer alone"""


@dataclass(frozen=True, slots=True)
class DcqcnPreset:
    """A published set of parameters, and the line rate that it belongs to."""

    reference_bps: int
    alpha_timer_ns: int
    increase_timer_ns: int
    byte_counter_bytes: int
    cnp_interval_ns: int
    cut_period_ns: int
    additive_bps: int
    hyper_bps: int
    min_bps: int
    gain: float
    recovery_steps: int


PRESETS = {
    # The DCQCN paper (SIGCOMM 2015); cut period of NVIDIA's adapters; hyper increase and least rate decided here.
    "paper": DcqcnPreset(
        REFERENCE_BPS, 55_000, 55_000, 10_000_000, 50_000, 4_000, 40_000_000, 200_000_000, 400_000_000, 1 / 256, 5
    ),
    # The HPCC simulator's config.txt for hosts of 100 Gbit/s. Its receivers mark ACKs, so the CNP interval is its cut
    # period (decided here).
    "hpcc": DcqcnPreset(
        100_000_000_000, 1_000, 900_000, _NO_COUNTER, 4_000, 4_000, 50_000_000, 100_000_000, 100_000_000, 1 / 256, 1
    ),
    # ConWeave's run.py for hosts of 100 Gbit/s, likewise.
    "conweave": DcqcnPreset(
        100_000_000_000, 1_000, 300_000, _NO_COUNTER, 4_000, 4_000, 40_000_000, 100_000_000, 100_000_000, 1 / 256, 1
    ),
}
"""by `transport.dcqcn.preset`"""
_BURST_PACKETS, _MOST_BURST_NS = 16, 2_000_000
"""Real machines need two milliseconds between wake-ups; no burst is longer, nor than so many packets."""
_HEADERS = EMPTY_FRAME_BYTES + RELIABLE.part_bytes["RETH"]
"""of a full data packet: Ethernet, IPv4, UDP, BTH, RETH, iCRC"""


def time_scale(options: DcqcnOptions, line_rate_bps: int) -> float:
    """s: as given, or the time of a packet on this link over its time at 40 Gb/s."""
    reference = PRESETS[options.preset].reference_bps
    return reference / line_rate_bps if options.time_scale is None else options.time_scale


def scaled_dcqcn(options: DcqcnOptions, line_rate_bps: int, path_mtu: int) -> DcqcnConfig:
    """`line_rate_bps`: of the sender's link."""
    scale = time_scale(options, line_rate_bps)
    preset = PRESETS[options.preset]
    share = line_rate_bps / preset.reference_bps

    def chosen(given: int | None, default: float) -> int:
        return max(1, round(default)) if given is None else given

    burst_ns = min(_MOST_BURST_NS, _BURST_PACKETS * (path_mtu + _HEADERS) * 8 * 10**9 // line_rate_bps)
    return DcqcnConfig(
        line_rate_bps=line_rate_bps,
        min_rate_bps=min(line_rate_bps, chosen(options.min_rate_bps, preset.min_bps * share)),
        additive_bps=chosen(options.additive_bps, preset.additive_bps * share),
        hyper_bps=chosen(options.hyper_bps, preset.hyper_bps * share),
        alpha_timer_ns=chosen(options.alpha_timer_ns, preset.alpha_timer_ns * scale),
        increase_timer_ns=chosen(options.increase_timer_ns, preset.increase_timer_ns * scale),
        byte_counter_bytes=chosen(options.byte_counter_bytes, preset.byte_counter_bytes * share * scale),
        cnp_interval_ns=chosen(options.cnp_interval_ns, preset.cnp_interval_ns * scale),
        cut_period_ns=chosen(options.cut_period_ns, preset.cut_period_ns * scale),
        gain=preset.gain if options.gain is None else options.gain,
        recovery_steps=preset.recovery_steps if options.recovery_steps is None else options.recovery_steps,
        burst_ns=chosen(options.burst_ns, burst_ns),
    )
