"""The invariant CRC of RoCE v2 (IBTA annex A17; kernel rxe_icrc.c), over the bytes from the IP header to the pad."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from workloads.machine import Buffer
from workloads.wire.envelope import IPV4, IPV6, UDP
from workloads.wire.headers import Bth
from workloads.wire.layout import Layout

__all__ = ["ICRC_BYTES", "icrc_masks", "icrc_of", "icrc_state"]

ICRC_BYTES = 4
_PREFIX_STATE = zlib.crc32(b"\xff" * 8)
_ROUTERS_CHANGE: dict[str, tuple[str, ...]] = {
    "IPv4": ("tos", "ttl", "checksum"), "IPv6": ("tos", "flow_label", "ttl"), "UDP": ("checksum",),
    "BTH": ("fecn", "becn", "resv6"),
}  # fmt: skip
"""header -> fields that count as ones"""
_UDP_CHECKSUM = UDP.octets("checksum")[0]
_BTH_RESERVED = UDP.size + Bth.LAYOUT.octets("resv6")[0]


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


def icrc_masks(*, is_ipv6: bool) -> dict[int, int]:
    """Bits that count as ones, by byte of a packet from its IP header on."""
    found: dict[int, int] = {}
    at = 0
    for layout in (IPV6 if is_ipv6 else IPV4, UDP, Bth.LAYOUT):
        for byte, bits in _masks(layout):
            found[at + byte] = found.get(at + byte, 0) | bits
        at += layout.size
    return found


def _masks(layout: Layout) -> Iterator[tuple[int, int]]:
    for name in _ROUTERS_CHANGE[layout.name]:
        first, last, low = layout.octets(name)
        bits = (((1 << layout.width(name)) - 1) << low).to_bytes(last - first + 1, "big")
        yield from enumerate(bits, first)
