"""Interfaces, addresses and neighbours as rtnetlink requests (include/uapi/linux/if_link.h, if_addr.h, neighbour.h)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from testbed.kernel.rtnetlink import Request, Rtnetlink, attribute, read_attributes, text

__all__ = [
    "PROMISCUOUS",
    "UP",
    "LinkReading",
    "add_address",
    "add_neighbour",
    "clear_flags",
    "read_addresses",
    "read_links",
    "set_flags",
    "veth_pair",
]

UP, PROMISCUOUS = 0x1, 0x100
"""IFF_UP, IFF_PROMISC"""
_NEW_LINK, _GET_LINK, _NEW_ADDRESS, _GET_ADDRESS, _NEW_NEIGHBOUR = 16, 18, 20, 22, 28
"""RTM_*"""
_CREATE = 0x600
"""NLM_F_CREATE | NLM_F_EXCL"""
_LINK_HEADER = struct.Struct("=BxHiII")
"""struct ifinfomsg: family, type, index, flags, change"""
_IFNAME, _MTU, _ADDRESS, _OPERSTATE, _LINKINFO, _NET_NS_PID, _CARRIER = 3, 4, 1, 16, 18, 19, 33
"""IFLA_*"""
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_OPERATIONAL = 6
"""IF_OPER_UP"""
_PERMANENT = 0x80
"""NUD_PERMANENT"""
_AF_INET = 2
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_NDA_DST, _NDA_LLADDR = 1, 2


@dataclass(frozen=True, slots=True)
class LinkReading:
    """What the kernel says about one interface."""

    index: int
    name: str
    flags: int
    mtu: int
    mac: bytes
    """6 bytes"""
    carrier: bool
    operational: bool
    """it handled its carrier: it sends"""


def _half(name: str, mac: bytes, mtu: int) -> bytes:
    named = attribute(_IFNAME, name.encode() + b"\0")
    return named + attribute(_ADDRESS, mac) + attribute(_MTU, struct.pack("=I", mtu))


def veth_pair(name: str, mac: bytes, peer: str, peer_mac: bytes, peer_pid: int, mtu: int) -> Request:
    """`name` comes to where the request is made, `peer` into the network namespace of process `peer_pid`."""
    header = _LINK_HEADER.pack(0, 0, 0, 0, 0)
    far = header + _half(peer, peer_mac, mtu) + attribute(_NET_NS_PID, struct.pack("=I", peer_pid))
    info = attribute(_INFO_KIND, b"veth") + attribute(_INFO_DATA, attribute(_VETH_PEER, far))
    return Request(_NEW_LINK, header + _half(name, mac, mtu) + attribute(_LINKINFO, info), _CREATE)


def set_flags(index: int, flags: int) -> Request:
    """Set these (UP, PROMISCUOUS); leave the others."""
    return Request(_NEW_LINK, _LINK_HEADER.pack(0, 0, index, flags, flags))


def clear_flags(index: int, flags: int) -> Request:
    """Take these away; leave the others."""
    return Request(_NEW_LINK, _LINK_HEADER.pack(0, 0, index, 0, flags))


def add_address(index: int, ip: bytes, prefix_length: int) -> Request:
    """`ip`: 4 bytes."""
    header = struct.pack("=BBBBI", _AF_INET, prefix_length, 0, 0, index)
    return Request(_NEW_ADDRESS, header + attribute(_IFA_LOCAL, ip) + attribute(_IFA_ADDRESS, ip), _CREATE)


def add_neighbour(index: int, ip: bytes, mac: bytes) -> Request:
    """For ever: nobody asks for it by ARP."""
    header = struct.pack("=BxxxiHBB", _AF_INET, index, _PERMANENT, 0, 0)
    return Request(_NEW_NEIGHBOUR, header + attribute(_NDA_DST, ip) + attribute(_NDA_LLADDR, mac), _CREATE)


def read_links(netlink: Rtnetlink) -> dict[int, LinkReading]:
    """All interfaces of the namespace, by index."""
    found = {}
    for body in netlink.dump(Request(_GET_LINK, _LINK_HEADER.pack(0, 0, 0, 0, 0))):
        _, _, index, flags, _ = _LINK_HEADER.unpack_from(body)
        told = read_attributes(body[_LINK_HEADER.size :])
        found[index] = LinkReading(
            index,
            text(told[_IFNAME]),
            flags,
            struct.unpack("=I", told[_MTU])[0],
            told.get(_ADDRESS, b""),
            told.get(_CARRIER, b"\0")[0] == 1,
            told.get(_OPERSTATE, b"\0")[0] == _OPERATIONAL,
        )
    return found


def read_addresses(netlink: Rtnetlink) -> list[bytes]:
    """IPv4 addresses of the namespace, 4 bytes each."""
    bodies = netlink.dump(Request(_GET_ADDRESS, struct.pack("=BBBBI", _AF_INET, 0, 0, 0, 0)))
    return [read_attributes(body[8:])[_IFA_ADDRESS] for body in bodies]
