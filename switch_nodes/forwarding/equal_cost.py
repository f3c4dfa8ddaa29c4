"""Equal-cost multipath: which of several equal ports a frame takes. The same in Python and in `frame_queue.h`.

All frames of a flow (addresses, protocol, ports) take one path, so that a network of several paths reorders none of
them. Each switch adds a number of its own to the hash. With one hash everywhere, the switches of the next tier would
see only flows that all choose alike. Part of the paths would stay empty.

With spraying, each frame takes a port of its own. Salt, flow and n choose the port for the n-th frame of a flow at this
switch. So a retransmitted packet may go another way. Frames of a flow may overtake each other then.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from workloads.machine import Buffer
from workloads.wire.places import (
    ADDRESSES,
    DST_MAC,
    ETHERTYPE,
    FRAGMENT,
    IP_AT,
    IS_IPV4,
    IS_IPV6,
    PROTOCOL6_AT,
    PROTOCOL_AT,
    SRC_IP6_AT,
    SRC_MAC,
    UDP6_AT,
    UDP_AT,
)  # fmt: skip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SprayedCounts", "choose_port", "flow_hash", "salt_of", "spray_port", "sprayed_counts"]

SprayedCounts: TypeAlias = "NDArray[np.uint32]"
"""(256,): frames sprayed so far, by flow hash modulo 256; flows may share one"""

_MASK = (1 << 64) - 1
_GOLDEN, _MIX1, _MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # constants of splitmix64
_WITH_PORTS = (6, 17)
"""TCP, UDP"""
_SPRAYED_FLOWS = 256
_HEAD_BYTES = IP_AT + 60 + 4
"""Ethernet, the longest IPv4 header, ports"""


def salt_of(switch: str, seed: int = 0) -> int:
    """A switch's own number, from its name and, where it sprays, the seed of the run: the same in every world."""
    return zlib.crc32(switch.encode()) ^ (seed & 0xFFFFFFFF) << 32


def choose_port(ports: Sequence[int], frame: Buffer, salt: int) -> int:
    """`ports` must not be empty; `frame` is an Ethernet frame of at least 14 bytes."""
    return ports[(flow_hash(frame, salt) >> 32) * len(ports) >> 32]


def sprayed_counts() -> SprayedCounts:
    """Before the first frame."""
    import numpy as np

    return np.zeros(_SPRAYED_FLOWS, np.uint32)


def spray_port(ports: Sequence[int], frame: Buffer, salt: int, counts: SprayedCounts) -> int:
    """As `choose_port`, for the next frame of its flow, which is counted."""
    flow = flow_hash(frame, salt)
    number = int(counts[flow % _SPRAYED_FLOWS])
    counts[flow % _SPRAYED_FLOWS] = number + 1 & 0xFFFFFFFF
    return ports[(_mix(flow, number) >> 32) * len(ports) >> 32]


def flow_hash(frame: Buffer, salt: int) -> int:
    """64 bits of the flow: IP addresses, protocol and, in an unfragmented TCP or UDP packet, ports; of what is no IP,
    the Ethernet header. `frame`: at least 14 bytes."""
    value = salt
    for word in _words(bytes(frame[:_HEAD_BYTES])):
        value = _mix(value, word)
    return value


def _mix(value: int, word: int) -> int:
    value = ((value ^ word) + _GOLDEN) & _MASK
    value = (value ^ value >> 30) * _MIX1 & _MASK
    value = (value ^ value >> 27) * _MIX2 & _MASK
    return value ^ value >> 31


def _words(head: bytes) -> tuple[int, ...]:
    kind = head[ETHERTYPE]
    if kind == IS_IPV4 and len(head) >= UDP_AT and head[IP_AT] >> 4 == 4:
        whole = not int.from_bytes(head[FRAGMENT], "big") & 0x3FFF
        at, protocol = IP_AT + 4 * (head[IP_AT] & 15), head[PROTOCOL_AT]
        ports = _ports(head, at, protocol) if whole else 0
        return int.from_bytes(head[ADDRESSES], "big"), protocol << 32 | ports
    if kind == IS_IPV6 and len(head) >= UDP6_AT:
        addresses = tuple(int.from_bytes(head[at : at + 8], "big") for at in range(SRC_IP6_AT, UDP6_AT, 8))
        return (*addresses, head[PROTOCOL6_AT] << 32 | _ports(head, UDP6_AT, head[PROTOCOL6_AT]))
    return tuple(int.from_bytes(head[place], "big") for place in (DST_MAC, SRC_MAC, ETHERTYPE))


def _ports(head: bytes, at: int, protocol: int) -> int:
    if protocol not in _WITH_PORTS or len(head) < at + 4:
        return 0
    return int.from_bytes(head[at : at + 4], "big")
