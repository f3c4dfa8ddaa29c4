"""The rate and the queue of one interface: HTB with one class and a pfifo below it, through netlink.

HTB counts the Ethernet frame with its 14-byte header, as `LinkShape.rate_bps` does. The quantum is explicit, else the
kernel derives one from the rate and complains. A burst of 64 KiB lets HTB hold fast rates; at slow rates it would let
much of a run pass unshaped, so it is limited to 20 ms of the rate, and never below two frames.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from testbed.kernel.rtnetlink import Request, Rtnetlink, attribute, read_attributes, text

__all__ = ["QdiscReading", "burst_bytes", "change_rate", "read_qdisc", "shape"]

_NEW_QDISC, _GET_QDISC, _NEW_CLASS, _GET_CLASS = 36, 38, 40, 42
"""RTM_*"""
_CREATE, _REPLACE = 0x600, 0x100
"""NLM_F_CREATE | NLM_F_EXCL, NLM_F_REPLACE"""
_HEADER = struct.Struct("=BxxxiIII")
"""struct tcmsg: family, index, handle, parent, info"""
_KIND, _OPTIONS, _STATS2 = 1, 2, 7
_STATS_BASIC, _STATS_QUEUE = 1, 3
_HTB_PARMS, _HTB_INIT, _HTB_RATE64, _HTB_CEIL64 = 1, 2, 6, 7
"""TCA_*, include/uapi/linux/rtnetlink.h, gen_stats.h, pkt_sched.h"""
_RATE = struct.Struct("=BBHhHI")
"""struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate in bytes per second"""
_PARMS = struct.Struct("=5I")
"""of struct tc_htb_opt behind its two rates: buffer, cbuffer, quantum, level, prio"""
_GLOB = struct.Struct("=5I")
"""struct tc_htb_glob: version, rate2quantum, defcls, debug, direct_pkts"""
_HTB_VERSION = 3
_ETHERNET = 1
"""TC_LINKLAYER_ETHERNET"""
_TICK_NS = 64
"""PSCHED_SHIFT, include/net/pkt_sched.h"""
_LARGEST = (1 << 32) - 1
_ROOT_PARENT = 0xFFFF_FFFF
"""TC_H_ROOT"""
_ROOT = 0x1_0000
_CLASS = 0x1_0010
_LEAF = 0x10_0000
_QUANTUM = 60_000
_BURST = 65_536
_BURST_DIVISOR = 50
"""1 s / 20 ms"""
_LINK_HEADER_BYTES = 18
"""Ethernet header and a VLAN tag"""


@dataclass(frozen=True, slots=True)
class QdiscReading:
    """What the kernel says about the shaping of one interface."""

    rate_bps: int
    queue_packets: int
    bytes: int
    """that passed the class since it was made"""
    packets: int
    drops: int
    """that the full queue refused"""


def burst_bytes(rate_bps: int, mtu: int) -> int:
    return min(_BURST, max(2 * (mtu + _LINK_HEADER_BYTES), rate_bps // 8 // _BURST_DIVISOR))


def _request(kind: int, flags: int, index: int, handle: int, parent: int, qdisc: str, options: bytes) -> Request:
    body = _HEADER.pack(0, index, handle, parent, 0)
    return Request(kind, body + attribute(_KIND, qdisc.encode() + b"\0") + attribute(_OPTIONS, options), flags)


def _class(flags: int, index: int, rate_bps: int, mtu: int) -> Request:
    """The kernel counts a burst in the time that it takes at this rate."""
    rate = rate_bps // 8
    ticks = min(_LARGEST, burst_bytes(rate_bps, mtu) * 10**9 // max(1, rate) // _TICK_NS)
    spec = _RATE.pack(0, _ETHERNET, 0, 0, 0, min(rate, _LARGEST))
    options = attribute(_HTB_PARMS, spec + spec + _PARMS.pack(ticks, ticks, _QUANTUM, 0, 0))
    if rate > _LARGEST:
        options += attribute(_HTB_RATE64, struct.pack("=Q", rate)) + attribute(_HTB_CEIL64, struct.pack("=Q", rate))
    return _request(_NEW_CLASS, flags, index, _CLASS, _ROOT, "htb", options)


def shape(index: int, *, rate_bps: int, queue_packets: int, mtu: int) -> Iterable[Request]:
    """What shapes interface `index`, of which nothing is shaped yet."""
    init = attribute(_HTB_INIT, _GLOB.pack(_HTB_VERSION, 10, _CLASS & 0xFFFF, 0, 0))
    yield _request(_NEW_QDISC, _CREATE, index, _ROOT, _ROOT_PARENT, "htb", init)
    yield _class(_CREATE, index, rate_bps, mtu)
    yield _request(_NEW_QDISC, _CREATE, index, _LEAF, _CLASS, "pfifo", struct.pack("=I", queue_packets))


def change_rate(index: int, *, rate_bps: int, mtu: int) -> Iterable[Request]:
    """What waits in the queue stays there."""
    yield _class(_REPLACE, index, rate_bps, mtu)


def read_qdisc(netlink: Rtnetlink, index: int) -> QdiscReading | None:
    """None when the interface does not carry our HTB class with its queue. `netlink`: of the namespace where it is."""
    rate = queue = None
    sent, packets, drops = 0, 0, 0
    for handle, _, kind, told in _dump(netlink, _GET_CLASS, index):
        if handle == _CLASS and kind == "htb" and _OPTIONS in told:
            options = read_attributes(told[_OPTIONS])
            rate = 8 * _RATE.unpack_from(options[_HTB_PARMS])[-1]
            if _HTB_RATE64 in options:
                rate = 8 * struct.unpack("=Q", options[_HTB_RATE64])[0]
            sent, packets = struct.unpack_from("=QI", read_attributes(told[_STATS2])[_STATS_BASIC])
    for handle, parent, kind, told in _dump(netlink, _GET_QDISC, index):
        if handle == _LEAF and parent == _CLASS and kind == "pfifo":
            (queue,) = struct.unpack_from("=I", told[_OPTIONS])
            _, _, drops, _, _ = struct.unpack_from("=5I", read_attributes(told[_STATS2])[_STATS_QUEUE])
    if rate is None or queue is None:
        return None
    return QdiscReading(rate, queue, sent, packets, drops)


def _dump(netlink: Rtnetlink, kind: int, index: int) -> Iterable[tuple[int, int, str, dict[int, bytes]]]:
    """(handle, parent, kind, attributes) of the classes or qdiscs of one interface."""
    for body in netlink.dump(Request(kind, _HEADER.pack(0, index, 0, 0, 0))):
        _, found, handle, parent, _ = _HEADER.unpack_from(body)
        told = read_attributes(body[_HEADER.size :])
        # The kernel tells the qdiscs of all interfaces.
        if found == index:
            yield handle, parent, text(told[_KIND]), told
