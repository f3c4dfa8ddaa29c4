"""Damage to a RoCE packet, with or without a repaired iCRC."""

from __future__ import annotations

from workloads.machine import Buffer
from workloads.wire.envelope import ETHERNET
from workloads.wire.headers import Bth
from workloads.wire.icrc import ICRC_BYTES, icrc_of
from workloads.wire.opcodes import OPCODES
from workloads.wire.packet import EXTENSIONS

__all__ = ["EXTENSION_BYTES", "flip_bit"]

EXTENSION_BYTES: tuple[int, ...] = tuple(
    sum(EXTENSIONS[name].LAYOUT.size for name in OPCODES[opcode].extensions) if opcode in OPCODES else 0
    for opcode in range(256)
)
"""Bytes of extension headers behind the BTH, by opcode; 0 for opcodes that we do not know."""

_IP_AT, _BTH_BYTES = ETHERNET.size, Bth.LAYOUT.size
_PAD_AT, _, _PAD_SHIFT = Bth.LAYOUT.octets("pad")
_BTH_UNPROTECTED = Bth.LAYOUT.octets("resv6")[0]
"""BTH byte with FECN, BECN and reserved bits: outside of the iCRC, so that damage there would not be seen"""


def flip_bit(frame: Buffer, opcode: int, at: int, end: int, number: int, *, repair_icrc: bool) -> bytes:
    """The frame with one bit flipped of its RoCE packet, whose BTH begins at `at` and whose iCRC ends at `end`.

    This is bit `number` (modulo how many there are) of its payload, counted from the least significant bit of its first
    byte. In a packet without payload it is a bit of BTH and extension headers, BTH byte 4 skipped. The iCRC stays as it
    was unless `repair_icrc`."""
    data = bytearray(frame)
    payload_at = at + _BTH_BYTES + EXTENSION_BYTES[opcode]
    payload_end = end - ICRC_BYTES - (data[at + _PAD_AT] >> _PAD_SHIFT & 3)
    if payload_end > payload_at:
        number %= (payload_end - payload_at) * 8
        byte = payload_at + number // 8
    else:
        header_end = min(payload_at, end - ICRC_BYTES)
        number %= (header_end - at - 1) * 8
        byte = number // 8
        byte = at + (byte if byte < _BTH_UNPROTECTED else byte + 1)
    data[byte] ^= 1 << number % 8
    if repair_icrc:
        data[end - ICRC_BYTES : end] = icrc_of(memoryview(data)[_IP_AT : end - ICRC_BYTES])
    return bytes(data)
