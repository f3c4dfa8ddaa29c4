"""The invariant CRC of RoCE v2 (IBTA annex A17; kernel rxe_icrc.c), over the bytes from the IP header to the pad."""

from __future__ import annotations

import zlib

from workloads.machine import Buffer

__all__ = ["ICRC_BYTES", "icrc_of", "icrc_state"]

ICRC_BYTES = 4
_PREFIX_STATE = zlib.crc32(b"\xff" * 8)
_IPV4_VARIANT = (1, 8, 10, 11)  # ToS, TTL, header checksum
_IPV6_VARIANT = (1, 2, 3, 7)  # traffic class, flow label, hop limit; and the low half of byte 0
_BTH_RESERVED = 8 + 4  # BTH byte 4 behind the UDP header: FECN, BECN and reserved bits


def icrc_of(ip_to_pad: Buffer) -> bytes:
    """The four iCRC bytes as they stand on the wire. `ip_to_pad` starts at the IP header (IPv4 or IPv6, no options) and
    ends with the last pad byte, iCRC excluded. Fields that routers change count as ones."""
    return icrc_state(ip_to_pad).to_bytes(4, "little")


def icrc_state(ip_to_somewhere: Buffer) -> int:
    """The CRC-32 of a packet's beginning, from the IP header to anywhere behind BTH byte 4. Continued over the rest with
    `zlib.crc32(rest, state)` it gives the iCRC: what packets have in common is computed once."""
    masked = bytearray(ip_to_somewhere)
    if masked[0] >> 4 == 4:
        udp, variant = (masked[0] & 0x0F) * 4, _IPV4_VARIANT
    else:
        udp, variant = 40, _IPV6_VARIANT
        masked[0] |= 0x0F
    for index in (*variant, udp + 6, udp + 7, udp + _BTH_RESERVED):
        masked[index] = 0xFF
    return zlib.crc32(masked, _PREFIX_STATE)
