"""Result packets: the stored header of a connection's own packet, the value, a new iCRC."""

from __future__ import annotations

from workloads.machine import Buffer
from workloads.rc.transport import RELIABLE
from workloads.wire.envelope import ipv4_checksum
from workloads.wire.places import CHECKSUM, IP_AT, TOS6_AT, TOS_AT, UDP_AT, UDP_CHECKSUM, UDP_CHECKSUM6

__all__ = ["build_result", "ecn_of", "mark_ce"]

_CE = 0b11


def ecn_of(frame: Buffer) -> int:
    """The two ECN bits of an Ethernet frame with IPv4 or IPv6 (RFC 3168)."""
    return frame[TOS_AT] & 3 if frame[IP_AT] >> 4 == 4 else frame[TOS6_AT] >> 4 & 3


def mark_ce(header: bytearray) -> None:
    """Set CE when the packet is ECN-capable; a Not-ECT packet must not be marked (RFC 3168, 5)."""
    if ecn_of(header) == 0:
        return
    if header[IP_AT] >> 4 == 4:
        header[TOS_AT] |= _CE
        header[CHECKSUM] = ipv4_checksum(header[IP_AT:UDP_AT]).to_bytes(2, "big")
    else:
        header[TOS6_AT] |= _CE << 4


def build_result(header: Buffer, value: Buffer, congested: bool) -> bytes:
    """`header`: Ethernet .. last extension header, and the INA header in the first packet of a message. `value`: a
    multiple of 4 bytes. All of the header stays, except CE and a UDP checksum, which would no longer be right."""
    packet = bytearray(header)
    if congested:
        mark_ce(packet)
    packet[UDP_CHECKSUM if packet[IP_AT] >> 4 == 4 else UDP_CHECKSUM6] = b"\0\0"
    packet += value
    return RELIABLE.sealed(packet)
