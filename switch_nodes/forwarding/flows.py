"""Equal-cost multipath: which of several equal ports a flow takes. Pure; the same in Python and in `frame_queue.h`.

All frames of a flow (addresses, protocol, ports) take one path, so that a network of several paths reorders none of
them. Each switch salts the hash with a number of its own: with one hash everywhere, the switches of the next tier would
only see flows that all choose alike, and part of the paths would stay empty.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from workloads.machine import Buffer

__all__ = ["choose_port", "flow_hash", "salt_of"]

_MASK = (1 << 64) - 1
_GOLDEN, _MIX1, _MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # constants of splitmix64
_WITH_PORTS = (6, 17)
"""TCP, UDP"""
_HEAD_BYTES = 14 + 60 + 4
"""Ethernet, the longest IPv4 header, ports"""


def salt_of(switch: str) -> int:
    """A switch's own number, from its name: the same in every run and world."""
    return zlib.crc32(switch.encode())


def choose_port(ports: Sequence[int], frame: Buffer, salt: int) -> int:
    """`ports` must not be empty; `frame` is an Ethernet frame of at least 14 bytes."""
    return ports[(flow_hash(frame, salt) >> 32) * len(ports) >> 32]


def flow_hash(frame: Buffer, salt: int) -> int:
    """64 bits of the flow: IP addresses, protocol and, in an unfragmented TCP or UDP packet, ports; of what is no IP,
    the Ethernet header. `frame`: at least 14 bytes."""
    value = salt
    for word in _words(bytes(frame[:_HEAD_BYTES])):
        value = ((value ^ word) + _GOLDEN) & _MASK
        value = (value ^ value >> 30) * _MIX1 & _MASK
        value = (value ^ value >> 27) * _MIX2 & _MASK
        value ^= value >> 31
    return value


def _words(head: bytes) -> tuple[int, ...]:
    kind = head[12:14]
    if kind == b"\x08\x00" and len(head) >= 34 and head[14] >> 4 == 4:
        whole = not int.from_bytes(head[20:22], "big") & 0x3FFF
        at = 14 + 4 * (head[14] & 15)
        ports = _ports(head, at, head[23]) if whole else 0
        return int.from_bytes(head[26:34], "big"), head[23] << 32 | ports
    if kind == b"\x86\xdd" and len(head) >= 54:
        addresses = tuple(int.from_bytes(head[at : at + 8], "big") for at in range(22, 54, 8))
        return (*addresses, head[20] << 32 | _ports(head, 54, head[20]))
    return tuple(int.from_bytes(head[at:to], "big") for at, to in ((0, 6), (6, 12), (12, 14)))


def _ports(head: bytes, at: int, protocol: int) -> int:
    if protocol not in _WITH_PORTS or len(head) < at + 4:
        return 0
    return int.from_bytes(head[at : at + 4], "big")
