"""Ethernet, IP and UDP around a RoCE v2 packet (RFC 791, RFC 8200, RFC 768; UDP destination port 4791)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from workloads.machine import Buffer
from workloads.wire.layout import Field, Layout, WireError, packer_of

__all__ = ["ROCE_PORT", "Envelope", "decode_envelope", "encode_envelope", "ipv4_checksum"]

ROCE_PORT = 4791
_ETHERTYPE_IPV4, _ETHERTYPE_IPV6, _UDP = 0x0800, 0x86DD, 17

ETHERNET = Layout(
    "Ethernet",
    Field("dst", 48, "MAC"),
    Field("src", 48, "MAC"),
    Field("ethertype", 16, "payload type"),
    source="IEEE 802.3",
)
IPV4 = Layout(
    "IPv4",
    Field("version", 4, "4"),
    Field("ihl", 4, "header length in words, 5"),
    Field("tos", 8, "DSCP and ECN"),
    Field("length", 16, "bytes from here to the iCRC's end"),
    Field("ident", 16, "identification"),
    Field("flags_fragment", 16, "DF is 0x4000"),
    Field("ttl", 8, "time to live"),
    Field("protocol", 8, "17"),
    Field("checksum", 16, "of this header"),
    Field("src", 32, "address"),
    Field("dst", 32, "address"),
    source="RFC 791",
)
IPV6 = Layout(
    "IPv6",
    Field("version", 4, "6"),
    Field("tos", 8, "traffic class"),
    Field("flow_label", 20, "flow label"),
    Field("length", 16, "bytes behind this header"),
    Field("protocol", 8, "17"),
    Field("ttl", 8, "hop limit"),
    Field("src", 128, "address"),
    Field("dst", 128, "address"),
    source="RFC 8200",
)
UDP = Layout(
    "UDP",
    Field("sport", 16, "one per flow"),
    Field("dport", 16, "4791"),
    Field("length", 16, "bytes from here to the iCRC's end"),
    Field("checksum", 16, "0: not used"),
    source="RFC 768",
)


_TYPE = ETHERNET.octets("ethertype")[0]
_V4_HEAD = ETHERNET.size + IPV4.size + UDP.size
_V6_HEAD = ETHERNET.size + IPV6.size + UDP.size


@dataclass(frozen=True, slots=True)
class Envelope:
    """Addresses and the fields a sender may choose; lengths and the IPv4 header checksum follow from the packet."""

    src_mac: bytes
    dst_mac: bytes
    src_ip: bytes
    """4 bytes (IPv4) or 16 (IPv6)"""
    dst_ip: bytes
    sport: int = 0xC000
    tos: int = 0
    """DSCP << 2 | ECN"""
    ttl: int = 64
    ident: int = 0
    flags_fragment: int = 0x4000
    flow_label: int = 0
    udp_checksum: int = 0


def ipv4_checksum(header: Buffer) -> int:
    """Internet checksum (RFC 1071) of an IPv4 header whose checksum field counts as zero."""
    words: tuple[int, ...] = _CHECKED.unpack_from(header)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


ETHERNET_WORDS = ETHERNET.words(octets=("dst", "src"))
IPV4_WORDS = IPV4.words(("version", "ihl"), octets=("src", "dst"))
_V4 = packer_of(ETHERNET_WORDS, IPV4_WORDS, UDP.words())
"""Ethernet, IPv4 without options, UDP"""
_IP, _CHECKSUM = ETHERNET.size, ETHERNET.size + IPV4.octets("checksum")[0]
_CHECKED = struct.Struct(f"!{(_CHECKSUM - _IP) // 2}H2x{(_IP + IPV4.size - _CHECKSUM) // 2 - 1}H")
"""the words of IPv4, without the checksum"""
_REMEMBERED = 4096
_heads: dict[bytes, tuple[Envelope, int, int]] = {}
"""What frames begin with -> what `decode_envelope` says about them. Packets of one size on one connection have equal
bytes there, and nothing but these and the frame's length decides."""


def encode_envelope(envelope: Envelope, transport_bytes: int) -> bytes:
    """Headers for `transport_bytes` of BTH .. iCRC. Raises WireError when a value does not fit."""
    e, udp_bytes = envelope, transport_bytes + UDP.size
    if len(e.src_ip) == len(e.dst_ip) == 4 and len(e.src_mac) == len(e.dst_mac) == 6:
        try:
            head = _V4.pack(
                e.dst_mac, e.src_mac, _ETHERTYPE_IPV4, 0x45, e.tos, udp_bytes + IPV4.size, e.ident, e.flags_fragment,
                e.ttl, _UDP, 0, e.src_ip, e.dst_ip, e.sport, ROCE_PORT, udp_bytes, e.udp_checksum,
            )  # fmt: skip
        except struct.error:
            return _encode_envelope(envelope, transport_bytes)  # raises
        checksum = ipv4_checksum(head[_IP : _IP + IPV4.size])
        return head[:_CHECKSUM] + checksum.to_bytes(2, "big") + head[_CHECKSUM + 2 :]
    return _encode_envelope(envelope, transport_bytes)


def _encode_envelope(envelope: Envelope, transport_bytes: int) -> bytes:
    """The same for any envelope, field by field."""
    e, udp_bytes = envelope, transport_bytes + UDP.size
    v4 = len(e.src_ip) == 4
    src, dst = int.from_bytes(e.src_ip, "big"), int.from_bytes(e.dst_ip, "big")
    if v4:
        values = {
            "version": 4, "ihl": 5, "tos": e.tos, "length": udp_bytes + IPV4.size, "ident": e.ident,
            "flags_fragment": e.flags_fragment, "ttl": e.ttl, "protocol": _UDP, "src": src, "dst": dst,
        }  # fmt: skip
        checksum = ipv4_checksum(IPV4.pack(**values, checksum=0))
        ip = IPV4.pack(**values, checksum=checksum)
    else:
        ip = IPV6.pack(
            version=6, tos=e.tos, flow_label=e.flow_label, length=udp_bytes, protocol=_UDP, ttl=e.ttl, src=src, dst=dst
        )
    ethernet = e.dst_mac + e.src_mac + (_ETHERTYPE_IPV4 if v4 else _ETHERTYPE_IPV6).to_bytes(2, "big")
    return ethernet + ip + UDP.pack(sport=e.sport, dport=ROCE_PORT, length=udp_bytes, checksum=e.udp_checksum)


def decode_envelope(frame: Buffer) -> tuple[Envelope, int, int] | None:
    """(envelope, offset of BTH, end of iCRC), or None when the frame is not UDP to port 4791 over plain IPv4 or IPv6.
    Raises WireError when it is, and its lengths contradict each other or the frame."""
    size = len(frame)
    key = bytes(frame[: _V6_HEAD if size > _TYPE and frame[_TYPE] == 0x86 else _V4_HEAD])
    found = _heads.get(key)
    if found is None or found[2] > size:
        found = _decode_envelope(frame)
        if found is not None:
            if len(_heads) >= _REMEMBERED:
                _heads.clear()
            _heads[key] = found
    return found


def _decode_envelope(frame: Buffer) -> tuple[Envelope, int, int] | None:
    if len(frame) < ETHERNET.size + 1:
        return None
    ethertype, ip_at = int.from_bytes(frame[_TYPE:_IP], "big"), ETHERNET.size
    if ethertype == _ETHERTYPE_IPV4 and frame[ip_at] == 0x45:
        layout, width = IPV4, 4
    elif ethertype == _ETHERTYPE_IPV6 and frame[ip_at] >> 4 == 6:
        layout, width = IPV6, 16
    else:
        return None
    ip = layout.unpack(frame, ip_at)
    if ip["protocol"] != _UDP or ip.get("flags_fragment", 0) & 0x3FFF:
        return None
    udp_at = ip_at + layout.size
    udp = UDP.unpack(frame, udp_at)
    if udp["dport"] != ROCE_PORT:
        return None
    end = udp_at + udp["length"]
    ip_end = ip_at + ip["length"] + (IPV6.size if width == 16 else 0)
    if end != ip_end:
        raise WireError(f"UDP ends at byte {end}, IP at byte {ip_end}")
    if end > len(frame):
        raise WireError(f"IP length says {end} bytes, the frame has {len(frame)}")
    if width == 4 and ip["checksum"] != ipv4_checksum(frame[ip_at:udp_at]):
        raise WireError(f"IPv4 header checksum {ip['checksum']:#06x} is wrong")
    envelope = Envelope(
        src_mac=bytes(frame[ETHERNET.span("src")]),
        dst_mac=bytes(frame[ETHERNET.span("dst")]),
        src_ip=ip["src"].to_bytes(width, "big"),
        dst_ip=ip["dst"].to_bytes(width, "big"),
        sport=udp["sport"],
        tos=ip["tos"],
        ttl=ip["ttl"],
        ident=ip.get("ident", 0),
        flags_fragment=ip.get("flags_fragment", 0x4000),
        flow_label=ip.get("flow_label", 0),
        udp_checksum=udp["checksum"],
    )
    return envelope, udp_at + UDP.size, end
