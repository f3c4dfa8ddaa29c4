"""Where the fields of Ethernet, IP and UDP stand in a frame, made from their layouts: for code that reads a field or
two of a frame. IPv4 without options; names with a 6 are of IPv6."""

from __future__ import annotations

from workloads.wire.envelope import ETHERNET, IPV4, IPV6, UDP

__all__ = [
    "ADDRESSES", "CHECKSUM", "CHECKSUM_AT", "DPORT", "DPORT_AT", "DST_IP", "DST_IP_AT", "DST_MAC",
    "ETHERTYPE", "ETHERTYPE_AT", "FLOW", "FRAGMENT", "FRAGMENT_AT", "IDENT_AT", "IP_AT", "IS_IPV4", "IS_IPV6",
    "LENGTH_AT", "MACS", "PROTOCOL6_AT", "PROTOCOL_AT", "SPORT_AT", "SRC_IP", "SRC_IP6_AT",
    "SRC_IP_AT", "SRC_MAC", "SRC_MAC_AT", "TOS6_AT", "TOS_AT", "TTL_AT", "UDP6_AT", "UDP_AT", "UDP_CHECKSUM",
    "UDP_CHECKSUM6", "UDP_CHECKSUM6_AT", "UDP_CHECKSUM_AT", "UDP_LENGTH_AT", "UDP_PAYLOAD6_AT", "UDP_PAYLOAD_AT",
]  # fmt: skip

IS_IPV4, IS_IPV6 = b"\x08\x00", b"\x86\xdd"
"""values of `ETHERTYPE`"""
IP_AT = ETHERNET.size
UDP_AT, UDP6_AT = IP_AT + IPV4.size, IP_AT + IPV6.size
UDP_PAYLOAD_AT, UDP_PAYLOAD6_AT = UDP_AT + UDP.size, UDP6_AT + UDP.size

DST_MAC, SRC_MAC, ETHERTYPE = (ETHERNET.span(name) for name in ("dst", "src", "ethertype"))
MACS = slice(DST_MAC.start, SRC_MAC.stop)
SRC_MAC_AT, ETHERTYPE_AT = SRC_MAC.start, ETHERTYPE.start

FRAGMENT, CHECKSUM, SRC_IP, DST_IP = (IPV4.span(name, IP_AT) for name in ("flags_fragment", "checksum", "src", "dst"))
ADDRESSES = slice(SRC_IP.start, DST_IP.stop)
FRAGMENT_AT, CHECKSUM_AT, SRC_IP_AT, DST_IP_AT = FRAGMENT.start, CHECKSUM.start, SRC_IP.start, DST_IP.start
TOS_AT, LENGTH_AT, IDENT_AT, TTL_AT, PROTOCOL_AT = (
    IP_AT + IPV4.octets(name)[0] for name in ("tos", "length", "ident", "ttl", "protocol")
)

TOS6_AT = IP_AT + IPV6.octets("tos")[1]
"""the octet with all of ECN: the traffic class begins in the one before"""
PROTOCOL6_AT, SRC_IP6_AT = (IP_AT + IPV6.octets(name)[0] for name in ("protocol", "src"))

SPORT_AT, DPORT_AT, UDP_LENGTH_AT, UDP_CHECKSUM_AT = (
    UDP_AT + UDP.octets(name)[0] for name in ("sport", "dport", "length", "checksum")
)
DPORT, UDP_CHECKSUM, UDP_CHECKSUM6 = (
    UDP.span(name, at) for name, at in (("dport", UDP_AT), ("checksum", UDP_AT), ("checksum", UDP6_AT))
)
UDP_CHECKSUM6_AT = UDP_CHECKSUM6.start
FLOW = slice(SRC_IP.start, DPORT.stop)
"""IPv4 addresses and UDP ports: together a flow's name on the wire"""
