"""Explicit congestion notification in the IP header of a frame (RFC 3168)."""

from __future__ import annotations

from workloads.machine import Buffer
from workloads.wire.places import CHECKSUM_AT, ETHERTYPE, IP_AT, IS_IPV4, IS_IPV6, TOS6_AT, TOS_AT, UDP6_AT, UDP_AT

__all__ = ["mark_ce"]

_ECT, _CE = (1, 2), 3
_LEAST = {IS_IPV4: UDP_AT, IS_IPV6: UDP6_AT}
"""bytes of the shortest headers of Ethernet and IP"""


def mark_ce(frame: Buffer) -> bytes | None:
    """The frame with Congestion Experienced set (RFC 3168) and its IPv4 header checksum updated by RFC 1624, so a wrong
    one stays wrong. None when it holds no IP packet, its sender is not ECN-capable, or it is marked already."""
    data = bytearray(frame)
    kind = bytes(data[ETHERTYPE])
    if len(data) < _LEAST.get(kind, len(data) + 1):
        return None
    if kind == IS_IPV4:
        tos = data[TOS_AT]
        if tos & 3 not in _ECT:
            return None
        old = data[IP_AT] << 8 | tos
        new = old | _CE
        data[TOS_AT] = tos | _CE
        checksum = ~(data[CHECKSUM_AT] << 8 | data[CHECKSUM_AT + 1]) & 0xFFFF
        total = checksum + (~old & 0xFFFF) + new
        total = (total & 0xFFFF) + (total >> 16)
        total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        data[CHECKSUM_AT], data[CHECKSUM_AT + 1] = total >> 8, total & 0xFF
    else:
        if data[TOS6_AT] >> 4 & 3 not in _ECT:
            return None
        data[TOS6_AT] |= _CE << 4
    return bytes(data)
