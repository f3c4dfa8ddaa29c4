"""Explicit congestion notification in the IP header of a frame (RFC 3168)."""

from __future__ import annotations

from workloads.machine import Buffer

__all__ = ["mark_ce"]

_ECT, _CE = (1, 2), 3
_IP_AT, _ETHERTYPE_AT = 14, 12
_IPV4, _IPV6 = b"\x08\x00", b"\x86\xdd"
_IP_LEAST = {_IPV4: 20, _IPV6: 40}
"""bytes of the shortest header"""


def mark_ce(frame: Buffer) -> bytes | None:
    """The frame with Congestion Experienced set (RFC 3168) and its IPv4 header checksum updated by RFC 1624, so a wrong
    one stays wrong. None when it holds no IP packet, its sender is not ECN-capable, or it is marked already."""
    data = bytearray(frame)
    kind = bytes(data[_ETHERTYPE_AT:_IP_AT])
    if len(data) < _IP_AT + _IP_LEAST.get(kind, len(data)):
        return None
    if kind == _IPV4:
        tos = data[_IP_AT + 1]
        if tos & 3 not in _ECT:
            return None
        old = data[_IP_AT] << 8 | tos
        new = old | _CE
        data[_IP_AT + 1] = tos | _CE
        checksum = ~(data[_IP_AT + 10] << 8 | data[_IP_AT + 11]) & 0xFFFF
        total = checksum + (~old & 0xFFFF) + new
        total = (total & 0xFFFF) + (total >> 16)
        total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        data[_IP_AT + 10], data[_IP_AT + 11] = total >> 8, total & 0xFF
    else:
        if data[_IP_AT + 1] >> 4 & 3 not in _ECT:
            return None
        data[_IP_AT + 1] |= _CE << 4
    return bytes(data)
