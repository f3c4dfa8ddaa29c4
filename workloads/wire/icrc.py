"""The invariant CRC of RoCE v2 (IBTA annex A17; kernel rxe_icrc.c), over the bytes from the IP header to the pad."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import cython

from workloads.machine import Buffer
from workloads.wire.envelope import ETHERNET, IPV4, IPV6, UDP
from workloads.wire.headers import Bth
from workloads.wire.layout import Layout

if not cython.compiled:

    def crc_of(octets: bytearray, state: int) -> int:
        """CRC-32, continued from `state`. The compiled body is in the .pxd."""
        return zlib.crc32(octets, state)

    def icrc_at(frame: bytes, at: int) -> int:
        """The iCRC that a frame has there. The compiled body is in the .pxd."""
        return int.from_bytes(frame[at : at + ICRC_BYTES], "little")

    def with_icrc(frame: bytes, at: int, state: int) -> bytes:
        """A new frame with its iCRC in its last four bytes. `state`: CRC-32 of what it covers in front of `at`. The
        compiled body, which is in the .pxd, changes the frame itself."""
        last = len(frame) - ICRC_BYTES
        return frame[:last] + zlib.crc32(frame[at:last], state).to_bytes(ICRC_BYTES, "little")


__all__ = ["ICRC_BYTES", "icrc_holds", "icrc_masks", "icrc_of", "icrc_state"]

ICRC_BYTES = 4
_IP_AT, _IPV6_BYTES = ETHERNET.size, IPV6.size
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
    return crc_of(_masked(bytes(ip_to_somewhere)), _PREFIX_STATE)


def icrc_holds(frame: bytes, end: int) -> bool:
    """Whether the iCRC of a RoCE v2 frame, in the four bytes in front of `end`, is right."""
    last = end - ICRC_BYTES
    return crc_of(_masked(frame[_IP_AT:last]), _PREFIX_STATE) == icrc_at(frame, last)


def _masked(ip_to_somewhere: bytes) -> bytearray:
    """With ones where routers change it. Raises IndexError where it has not all of that."""
    masked = bytearray(ip_to_somewhere)
    size, udp = len(masked), _IPV6_BYTES
    if size > 0 and masked[0] >> 4 == 4:
        udp = (masked[0] & 0x0F) * 4
    if size <= udp + _BTH_RESERVED:
        raise IndexError(f"an iCRC over {size} bytes, which end in front of what it leaves out")
    if masked[0] >> 4 == 4:
        masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
    else:
        masked[0] |= 0x0F
        masked[1] = masked[2] = masked[3] = masked[7] = 0xFF
    masked[udp + _UDP_CHECKSUM] = masked[udp + _UDP_CHECKSUM + 1] = masked[udp + _BTH_RESERVED] = 0xFF
    return masked


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
