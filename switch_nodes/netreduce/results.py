"""Result packets: the stored header of a connection's own packet, the value, a new iCRC."""

from __future__ import annotations

from workloads.machine import Buffer
from workloads.rc.transport import RELIABLE
from workloads.wire.envelope import ETHERNET, IPV4, IPV6, ipv4_checksum

__all__ = ["build_result", "ecn_of", "mark_ce"]

_CE = 0b11
_IP = ETHERNET.size
_UDP_CHECKSUM = 6


def ecn_of(frame: Buffer) -> int:
    """The two ECN bits of an Ethernet frame with IPv4 or IPv6 (RFC 3168)."""
    return frame[_IP + 1] & 3 if frame[_IP] >> 4 == 4 else frame[_IP + 1] >> 4 & 3


def mark_ce(header: bytearray) -> None:
    """Set CE when the packet is ECN-capable; a Not-ECT packet must not be marked (RFC 3168, 5)."""
    if ecn_of(header) == 0:
        return
    if header[_IP] >> 4 == 4:
        header[_IP + 1] |= _CE
        header[_IP + 10 : _IP + 12] = ipv4_checksum(header[_IP : _IP + IPV4.size]).to_bytes(2, "big")
    else:
        header[_IP + 1] |= _CE << 4


def build_result(header: Buffer, value: Buffer, congested: bool) -> bytes:
    """`header`: Ethernet .. last extension header, and the INA header in the first packet of a message. `value`: a
    multiple of 4 bytes. All of the header stays, except CE and a UDP checksum, which would no longer be right."""
    packet = bytearray(header)
    if congested:
        mark_ce(packet)
    udp = _IP + (IPV4.size if packet[_IP] >> 4 == 4 else IPV6.size)
    packet[udp + _UDP_CHECKSUM : udp + _UDP_CHECKSUM + 2] = b"\0\0"
    packet += value
    return RELIABLE.sealed(packet)
