"""The invariant CRC of RoCE v2 (IBTA annex A17; kernel rxe_icrc.c), over the bytes from the IP header to the pad."""

from __future__ import annotations

import zlib

from workloads.machine import Buffer

__all__ = ["ICRC_BYTES", "icrc_of", "icrc_state"]

ICRC_BYTES = 4
_PREFIX_STATE = zlib.crc32(b"\xff" * 8)
# What counts as ones: IPv4 ToS, TTL, header checksum; IPv6 traffic class, flow label, hop limit (and the low half of
# byte 0); UDP checksum; BTH byte 4, which holds FECN, BECN and reserved bits.
_UDP_CHECKSUM = 6
_BTH_RESERVED = 8 + 4


def icrc_of(ip_to_pad: Buffer) -> bytes:
    """The four iCRC bytes as they stand on the wire. `ip_to_pad` starts at the IP header (IPv4 or IPv6, no options) and
    ends with the last pad byte, iCRC excluded. Fields that routers change count as ones."""
    return icrc_state(ip_to_pad).to_bytes(4, "little")


def icrc_state(ip_to_somewhere: Buffer) -> int:
    """The CRC-32 of a packet's beginning, from the IP header to anywhere behind BTH byte 4. Continued over the rest
    with `zlib.crc32(rest, state)` it gives the iCRC: what packets have in common is computed once."""
    masked = bytearray(ip_to_somewhere)
    if masked[0] >> 4 == 4:
        udp = (masked[0] & 0x0F) * 4
        masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
    else:
        udp = 40
        masked[0] |= 0x0F
        masked[1] = masked[2] = masked[3] = masked[7] = 0xFF
    masked[udp + _UDP_CHECKSUM] = masked[udp + _UDP_CHECKSUM + 1] = masked[udp + _BTH_RESERVED] = 0xFF
    return zlib.crc32(masked, _PREFIX_STATE)
