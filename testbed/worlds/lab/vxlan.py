"""VXLAN in user space (RFC 7348, section 5): an Ethernet frame in a UDP datagram, behind eight bytes that name its
network."""

from __future__ import annotations

import struct

__all__ = ["VXLAN_PORT", "decapsulate", "encapsulate"]

VXLAN_PORT = 4789
_HEAD = struct.Struct("!B3xI")
_VALID = 0x08
"""flag I: the network identifier counts"""


def encapsulate(vni: int, frame: bytes) -> bytes:
    return _HEAD.pack(_VALID, vni << 8) + frame


def decapsulate(datagram: bytes) -> tuple[int, bytes] | None:
    """(network, frame); None for what is no VXLAN."""
    if len(datagram) <= _HEAD.size:
        return None
    flags, word = _HEAD.unpack_from(datagram)
    return (word >> 8, datagram[_HEAD.size :]) if flags & _VALID else None
