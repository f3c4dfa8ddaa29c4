"""What faults do to the bytes of a frame. The IP header is touched by `mark_ce` alone."""

from __future__ import annotations

from testbed.faults.identity import Identity
from workloads.machine import Buffer
from workloads.wire import ICRC_BYTES, OPCODES, icrc_of
from workloads.wire.packet import EXTENSIONS

__all__ = ["EXTENSION_BYTES", "flip_bit", "mark_ce"]

EXTENSION_BYTES: tuple[int, ...] = tuple(
    sum(EXTENSIONS[name].LAYOUT.size for name in OPCODES[opcode].extensions) if opcode in OPCODES else 0
    for opcode in range(256)
)
"""Bytes of extension headers behind the BTH, by opcode; 0 for opcodes that we do not know."""

_IP_AT, _BTH_BYTES = 14, 12
_BTH_UNPROTECTED = 4
"""BTH byte with FECN, BECN and reserved bits: outside of the iCRC, so that damage there would not be seen"""
_ECT, _CE = (1, 2), 3
_ETHERTYPE_AT = 12
_IPV4, _IPV6 = b"\x08\x00", b"\x86\xdd"
_IP_LEAST = {_IPV4: 20, _IPV6: 40}
"""bytes of the shortest header"""


def flip_bit(frame: Buffer, identity: Identity, number: int, *, repair_icrc: bool) -> bytes:
    """The frame of a RoCE packet with one bit flipped: bit `number` (modulo how many there are) of its payload, counted from
    the least significant bit of its first byte; of a packet without payload: of BTH and extension headers, BTH byte 4
    skipped. The iCRC stays as it was unless `repair_icrc`."""
    data = bytearray(frame)
    at = identity.transport_at
    payload_at = at + _BTH_BYTES + EXTENSION_BYTES[identity.opcode]
    payload_end = identity.end - ICRC_BYTES - (data[at + 1] >> 4 & 3)
    if payload_end > payload_at:
        number %= (payload_end - payload_at) * 8
        byte = payload_at + number // 8
    else:
        header_end = min(payload_at, identity.end - ICRC_BYTES)
        number %= (header_end - at - 1) * 8
        byte = number // 8
        byte = at + (byte if byte < _BTH_UNPROTECTED else byte + 1)
    data[byte] ^= 1 << number % 8
    if repair_icrc:
        data[identity.end - ICRC_BYTES : identity.end] = icrc_of(memoryview(data)[_IP_AT : identity.end - ICRC_BYTES])
    return bytes(data)


def mark_ce(frame: Buffer) -> bytes | None:
    """The frame with Congestion Experienced set (RFC 3168) and a right IPv4 header checksum (updated by RFC 1624, so that a
    wrong one stays wrong); None when it holds no IP packet, its sender is not ECN-capable, or it is marked already."""
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
