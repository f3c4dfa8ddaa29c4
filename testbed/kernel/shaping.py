"""The rate and the queue of one interface: HTB with one class and a pfifo below it, through netlink.

HTB counts the Ethernet frame with its 14-byte header, as `LinkShape.rate_bps` does. The quantum is explicit, else the
kernel derives one from the rate and complains. A burst of 64 KiB lets HTB hold fast rates; at slow rates it would let
much of a run pass unshaped, so it is limited to a span of the rate, and never below two frames. Rates and spans are the
kernel's, in real time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "BURST_NS",
    "CLASS",
    "LEAF",
    "QdiscReading",
    "burst_bytes",
    "change_rate",
    "read_qdisc",
    "read_qdiscs",
    "shape",
]

_ROOT = 0x1_0000
CLASS = 0x1_0010
LEAF = 0x10_0000
_QUANTUM = 60_000
_BURST = 65_536
BURST_NS = 20_000_000
_SECOND_BITS = 8 * 10**9
_HEADER = 18
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


def burst_bytes(rate_bps: int, mtu: int, span_ns: int = BURST_NS) -> int:
    return min(_BURST, max(2 * (mtu + _HEADER), rate_bps * span_ns // _SECOND_BITS))


def _class_options(rate_bps: int, mtu: int, burst_ns: int) -> dict[str, int]:
    burst = burst_bytes(rate_bps, mtu, burst_ns)
    return {"parent": _ROOT, "rate": rate_bps // 8, "burst": burst, "cburst": burst, "quantum": _QUANTUM}


def shape(netlink: Any, index: int, *, rate_bps: int, queue_packets: int, mtu: int, burst_ns: int = BURST_NS) -> None:
    """`netlink`: a pyroute2 IPRoute of the namespace where interface `index` is. Raises NetlinkError."""
    netlink.tc("add", "htb", index, _ROOT, default=CLASS & 0xFFFF)
    netlink.tc("add-class", "htb", index, CLASS, **_class_options(rate_bps, mtu, burst_ns))
    netlink.tc("add", "pfifo", index, LEAF, parent=CLASS, limit=queue_packets)


def change_rate(netlink: Any, index: int, *, rate_bps: int, mtu: int, burst_ns: int = BURST_NS) -> None:
    """What waits in the queue stays there. Raises NetlinkError."""
    netlink.tc("change-class", "htb", index, CLASS, **_class_options(rate_bps, mtu, burst_ns))


def read_qdisc(netlink: Any, index: int) -> QdiscReading | None:
    """None when the interface does not carry our HTB class with its queue."""
    return read_qdiscs(netlink, (index,)).get(index)


def read_qdiscs(netlink: Any, indices: Iterable[int]) -> dict[int, QdiscReading]:
    """By index, without those that do not carry our HTB class with its queue. The kernel tells the qdiscs of all
    interfaces whichever is asked for, so ask once for many."""
    queues = {
        message["index"]: message
        for message in netlink.get_qdiscs()
        if message["handle"] == LEAF and message["parent"] == CLASS and message.get_attr("TCA_KIND") == "pfifo"
    }
    readings = {}
    for index in indices:
        htb = _read_class(netlink, index)
        if htb is not None and index in queues:
            options = htb.get_attr("TCA_OPTIONS")
            basic = htb.get_attr("TCA_STATS2").get_attr("TCA_STATS_BASIC")
            readings[index] = QdiscReading(
                8 * (options.get_attr("TCA_HTB_RATE64") or options.get_attr("TCA_HTB_PARMS")["rate"]),
                queues[index].get_attr("TCA_OPTIONS")["limit"],
                basic["bytes"],
                basic["packets"],
                queues[index].get_attr("TCA_STATS2").get_attr("TCA_STATS_QUEUE")["drops"],
            )
    return readings


def _read_class(netlink: Any, index: int) -> Any:
    for message in netlink.get_classes(index=index):
        if message["handle"] == CLASS and message.get_attr("TCA_KIND") == "htb":
            return message
    return None
