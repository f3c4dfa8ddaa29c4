"""The class of a packet in its DSCP: whose layers it carries, and whether a queue may drop it early.

    DSCP = 8 + 2 * layer class + (1 where the packet is of the low class)

Rule 1: layer class 0, of the front layers, is served first, 3 last.
Rule 2: only packets of the low class may be dropped while a queue has room.
Rule 3: a packet with none of these eight values is served with layer class 0 and is never of the low class. This covers
all traffic without classes.

The abstracts of DLCP and MLT say that layers and magnitudes matter. The code points are decided here
(docs/priority.md). `dscp.h` reads frames by the same rules.
"""

from __future__ import annotations

from workloads.machine import Buffer
from workloads.wire.places import ETHERTYPE, IP_AT, IS_IPV4, IS_IPV6, TOS6_AT, TOS_AT

__all__ = ["LAYER_CLASSES", "NO_DSCP", "dscp_of", "is_low", "layer_class_of", "read_dscp"]

LAYER_CLASSES = 4
NO_DSCP = -1
"""value for a frame that holds no IP packet"""
_FIRST = 8


def dscp_of(layer_class: int, *, low: bool) -> int:
    """Raises ValueError for a layer class that is not 0 .. 3."""
    if not 0 <= layer_class < LAYER_CLASSES:
        raise ValueError(f"layer class {layer_class}; allowed: 0 .. {LAYER_CLASSES - 1}")
    return _FIRST + 2 * layer_class + low


def layer_class_of(dscp: int) -> int:
    """0 .. 3, by which strict priority serves it."""
    return (dscp - _FIRST) // 2 if _is_class(dscp) else 0


def is_low(dscp: int) -> bool:
    """Whether a queue that has room may drop it."""
    return _is_class(dscp) and bool(dscp & 1)


def read_dscp(frame: Buffer) -> int:
    """DSCP of the IPv4 or IPv6 packet in an Ethernet frame; `NO_DSCP` if there is none."""
    if len(frame) <= TOS_AT:
        return NO_DSCP
    kind = bytes(frame[ETHERTYPE])
    if kind == IS_IPV4:
        return frame[TOS_AT] >> 2
    if kind == IS_IPV6:
        return (frame[IP_AT] << 4 & 0xF0 | frame[TOS6_AT] >> 4) >> 2
    return NO_DSCP


def _is_class(dscp: int) -> bool:
    return 0 <= dscp - _FIRST < 2 * LAYER_CLASSES
