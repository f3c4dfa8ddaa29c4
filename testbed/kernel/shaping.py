"""The rate and the queue of one interface: HTB with one class and a pfifo below it, through netlink. Where layer
classes are served by priority, the class has one child for each, with a pfifo of its own. u32 filters choose by DSCP.

HTB counts the Ethernet frame with its 14-byte header, as `LinkShape.rate_bps` does. The quantum is explicit, else the
kernel derives one from the rate and complains. A burst of 64 KiB lets HTB hold fast rates. At slow rates it would let
much of a run pass unshaped, so it is limited to a span of the rate. It is not below two frames unless the caller says
so. HTB lets a frame go that its burst does not cover, and the next ones wait for it. Rates and spans are the kernel's,
in real time.

What a child may send of its own leaves before what others may only borrow from the class, whatever their priorities.
HTB has no rate of zero; ours are so small that it is one frame of a child that sent nothing for a minute.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workloads.wire.dscp import LAYER_CLASSES, dscp_of

__all__ = [
    "CLASS",
    "LEAVES",
    "QdiscReading",
    "burst_bytes",
    "change_rate",
    "read_qdisc",
    "read_qdiscs",
    "shape",
]

_ROOT = 0x1_0000
CLASS = 0x1_0010
_LEAF = 0x10_0000
_CHILD, _CHILD_LEAF = 0x1_0020, 0x20_0000
"""handles of layer class 0; the others follow"""
_LEAVES = {_LEAF: CLASS}
_CHILD_LEAVES = {_CHILD_LEAF + (number << 16): _CHILD + number for number in range(LAYER_CLASSES)}
LEAVES = _LEAVES | _CHILD_LEAVES
"""handles of queues, with the class that each is below"""
_OWN_RATE = 8
_CEIL = 4_000_000_000
"""ceiling of a child, bytes/s: the class above it is the limit"""
_IPV4, _IPV6 = 0x0800, 0x86DD
_QUANTUM = 60_000
_BURST = 65_536
_BURST_NS = 20_000_000
_SECOND_BITS = 8 * 10**9
_HEADER = 18
"""Ethernet header and a VLAN tag"""


@dataclass(frozen=True, slots=True)
class QdiscReading:
    """What the kernel says about the shaping of one interface."""

    rate_bps: int
    queue_packets: int
    """packets of each layer class, where they are served"""
    bytes: int
    """bytes that passed the class since it was made"""
    packets: int
    drops: int
    """frames that the full queue refused"""
    serves_classes: bool
    """strictly by layer class"""


def burst_bytes(rate_bps: int, mtu: int, span_ns: int = _BURST_NS) -> int:
    return min(_BURST, max(2 * (mtu + _HEADER), rate_bps * span_ns // _SECOND_BITS))


def _class_options(rate_bps: int, mtu: int, burst: int | None) -> dict[str, int]:
    burst = burst_bytes(rate_bps, mtu) if burst is None else burst
    return {"parent": _ROOT, "rate": rate_bps // 8, "burst": burst, "cburst": burst, "quantum": _QUANTUM}


def shape(
    netlink: Any,
    index: int,
    *,
    rate_bps: int,
    queue_packets: int,
    mtu: int,
    burst: int | None = None,
    serves_classes: bool = False,
) -> None:
    """`netlink`: a pyroute2 IPRoute of the namespace where interface `index` is. `burst`: bytes; None: `burst_bytes`.
    `serves_classes`: strictly by layer
    class, each with a queue of `queue_packets`. Raises NetlinkError."""
    leaves = _CHILD_LEAVES if serves_classes else _LEAVES
    netlink.tc("add", "htb", index, _ROOT, default=next(iter(leaves.values())) & 0xFFFF)
    netlink.tc("add-class", "htb", index, CLASS, **_class_options(rate_bps, mtu, burst))
    if serves_classes:
        _add_children(netlink, index)
    for leaf, parent in leaves.items():
        netlink.tc("add", "pfifo", index, leaf, parent=parent, limit=queue_packets)


def _add_children(netlink: Any, index: int) -> None:
    for number in range(LAYER_CLASSES):
        netlink.tc(
            "add-class", "htb", index, _CHILD + number, parent=CLASS, rate=_OWN_RATE, burst=1, ceil=_CEIL,
            cburst=_BURST, quantum=_QUANTUM, prio=number,
        )  # fmt: skip
        if number:  # what no filter knows is of class 0
            tos, mask = dscp_of(number, low=False) << 2, 0xF8  # without ECN, and the bit of the low class
            keys = {_IPV4: f"{tos:#04x}/{mask:#04x}+1", _IPV6: f"{tos << 4:#06x}/{mask << 4:#06x}+0"}
            for prio, (protocol, key) in enumerate(keys.items(), start=1):
                netlink.tc(
                    "add-filter", "u32", index, parent=_ROOT, prio=prio, protocol=protocol, target=_CHILD + number,
                    keys=[key],
                )  # fmt: skip


def change_rate(netlink: Any, index: int, *, rate_bps: int, mtu: int, burst: int | None = None) -> None:
    """What waits in the queue stays there. Raises NetlinkError."""
    netlink.tc("change-class", "htb", index, CLASS, **_class_options(rate_bps, mtu, burst))


def read_qdisc(netlink: Any, index: int) -> QdiscReading | None:
    """None when the interface does not carry our HTB class with its queue."""
    return read_qdiscs(netlink, (index,)).get(index)


def read_qdiscs(netlink: Any, indices: Iterable[int]) -> dict[int, QdiscReading]:
    """By index, without those that do not carry our HTB class with its queue. The kernel reports the qdiscs of all
    interfaces whichever is asked for, so ask once for many."""
    queues: dict[int, list[Any]] = {}
    for message in netlink.get_qdiscs():
        if LEAVES.get(message["handle"]) == message["parent"] and message.get_attr("TCA_KIND") == "pfifo":
            queues.setdefault(message["index"], []).append(message)
    readings = {}
    for index in indices:
        htb = _read_class(netlink, index)
        below = queues.get(index, [])
        if htb is not None and len(below) in (len(_LEAVES), len(_CHILD_LEAVES)):
            options = htb.get_attr("TCA_OPTIONS")
            basic = htb.get_attr("TCA_STATS2").get_attr("TCA_STATS_BASIC")
            readings[index] = QdiscReading(
                8 * (options.get_attr("TCA_HTB_RATE64") or options.get_attr("TCA_HTB_PARMS")["rate"]),
                below[0].get_attr("TCA_OPTIONS")["limit"],
                basic["bytes"],
                basic["packets"],
                sum(queue.get_attr("TCA_STATS2").get_attr("TCA_STATS_QUEUE")["drops"] for queue in below),
                len(below) > 1,
            )
    return readings


def _read_class(netlink: Any, index: int) -> Any:
    for message in netlink.get_classes(index=index):
        if message["handle"] == CLASS and message.get_attr("TCA_KIND") == "htb":
            return message
    return None
