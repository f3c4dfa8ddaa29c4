"""The buffers of a lossless network, worked out from the scenario: thresholds and headroom of every port and class."""

from __future__ import annotations

from fractions import Fraction

from switch_nodes.lossless.buffer import FIXED, Key, PortLimits, SharedBuffer
from switch_nodes.lossless.headroom import exact_headroom, response_ns, two_way_headroom
from testbed.scenario.keys.pfc import Pfc
from topologies import LinkShape, Topology
from workloads.wire.envelope import ETHERNET

__all__ = [
    "SLACK_NS",
    "buffer_of",
    "headroom_of",
    "largest_frame",
    "limits_of",
    "receive_buffer",
    "reserve_of",
    "response_of",
    "resume_below",
]

SLACK_NS = 4_000_000
"""real time that a node of the emulated world may be late with PFC, and make good"""
_ETHERNET_BYTES = ETHERNET.size
_HPCC_RESERVE, _HPCC_RESUME, _HPCC_SHIFT = 4096, 3072, 3
_DEFAULT_ALPHA, _CONWEAVE_ALPHA = Fraction(1), Fraction(1, 16)


def largest_frame(shape: LinkShape) -> int:
    """Bytes, without FCS."""
    return shape.mtu + _ETHERNET_BYTES


def response_of(pfc: Pfc, shape: LinkShape) -> int:
    """ns from a PFC frame to the pause; by default the longest that the standard allows."""
    return response_ns(shape.rate_bps) if pfc.response_time_ns is None else pfc.response_time_ns


def headroom_of(pfc: Pfc, shape: LinkShape) -> int:
    """Bytes of one port and lossless class."""
    if pfc.headroom_bytes is not None:
        return pfc.headroom_bytes
    rate, delay, frame = shape.rate_bps, shape.delay_ns, largest_frame(shape)
    if pfc.model == "hpcc":
        return two_way_headroom(rate, delay, 3, 0)
    if pfc.model == "conweave":
        return two_way_headroom(rate, delay, 2, 2 * frame)
    return exact_headroom(rate, delay, frame, response_of(pfc, shape))


def reserve_of(pfc: Pfc) -> int:
    """Bytes of one port and class."""
    return _HPCC_RESERVE if pfc.model == "hpcc" else 0


def resume_below(pfc: Pfc, topology: Topology) -> int:
    """Bytes below the threshold at which a neighbour goes on."""
    if pfc.resume_below_bytes is not None:
        return pfc.resume_below_bytes
    return _HPCC_RESUME if pfc.model == "hpcc" else 2 * max(largest_frame(link.shape) for link in topology.links)


def limits_of(pfc: Pfc, topology: Topology, switch: str) -> dict[Key, PortLimits]:
    """By (port, class) of one switch."""
    found = dict[Key, PortLimits]()
    for port, link, _ in topology.ports(switch):
        share = _share(pfc, topology, link.shape)
        for pfc_class in sorted(set(pfc.classes)):
            lossless = pfc_class in pfc.lossless
            found[port, pfc_class] = PortLimits(
                headroom=headroom_of(pfc, link.shape) if lossless else 0,
                threshold=pfc.threshold_bytes or 0,
                share_num=FIXED if pfc.model == "static" else share.numerator,
                share_den=share.denominator,
                reserve=reserve_of(pfc),
                is_lossless=lossless,
            )
    return found


def buffer_of(pfc: Pfc, topology: Topology, switch: str) -> SharedBuffer:
    """The buffer of one switch, empty."""
    limits = limits_of(pfc, topology, switch)
    kept = sum(each.headroom + each.reserve for each in limits.values())
    return SharedBuffer(pfc.buffer_bytes - kept, limits, resume_below(pfc, topology))


def receive_buffer(pfc: Pfc, topology: Topology, host: str) -> SharedBuffer:
    """The receive queue of a slow host: a fixed threshold, and exact headroom behind it."""
    limits = dict[Key, PortLimits]()
    for port, link, _ in topology.ports(host):
        shape = link.shape
        headroom = exact_headroom(shape.rate_bps, shape.delay_ns, largest_frame(shape), response_of(pfc, shape))
        for pfc_class in sorted(set(pfc.classes)):
            lossless = pfc_class in pfc.lossless
            limits[port, pfc_class] = PortLimits(
                headroom if lossless else 0, pfc.receive_queue_bytes, is_lossless=lossless
            )
    shared = pfc.receive_queue_bytes * len(limits)
    return SharedBuffer(shared, limits, min(resume_below(pfc, topology), pfc.receive_queue_bytes // 2))


def _share(pfc: Pfc, topology: Topology, shape: LinkShape) -> Fraction:
    """Part of what is free in the shared buffer that is the threshold of one port and class."""
    if pfc.model == "hpcc":
        slowest = min(link.shape.rate_bps for host in topology.hosts for _, link, _ in topology.ports(host.name))
        shift, rate = _HPCC_SHIFT, shape.rate_bps
        while shift and rate > slowest:
            shift, rate = shift - 1, rate // 2
        return Fraction(1, 1 << shift)
    if pfc.alpha is not None:
        return Fraction(pfc.alpha).limit_denominator(1 << 20)
    return _CONWEAVE_ALPHA if pfc.model == "conweave" else _DEFAULT_ALPHA
