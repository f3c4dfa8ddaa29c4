"""Interfaces, addresses and neighbours, through netlink.

`netlink` is a pyroute2 IPRoute of the namespace that is meant. What the kernel refuses is raised as pyroute2's
NetlinkError.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyroute2.netlink import NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST
from pyroute2.netlink.rtnl import RTM_NEWNEIGH
from pyroute2.netlink.rtnl.ndmsg import ndmsg

from topologies import format_ip, format_mac

__all__ = [
    "PROMISCUOUS",
    "UP",
    "LinkReading",
    "add_address",
    "add_neighbours",
    "add_veth_pair",
    "clear_flags",
    "read_addresses",
    "read_links",
    "set_flags",
]

UP, PROMISCUOUS = 0x1, 0x100
"""IFF_UP, IFF_PROMISC"""
_PERMANENT = 0x80
"""NUD_PERMANENT, include/uapi/linux/neighbour.h"""
_AF_INET = 2
_BATCH = 64
"""requests whose answers fit into the socket's buffer"""


@dataclass(frozen=True, slots=True)
class LinkReading:
    """What the kernel says about one interface."""

    index: int
    name: str
    flags: int
    mtu: int
    mac: str
    carrier: bool
    operational: bool
    """whether it handled its carrier and sends"""


def add_veth_pair(netlink: Any, name: str, mac: bytes, peer: str, peer_mac: bytes, peer_pid: int, mtu: int) -> None:
    """`name` goes to the namespace of the request, `peer` into the network namespace of process `peer_pid`. Both are
    down, since the kernel refuses a peer that is up before its pair is."""
    far = {"ifname": peer, "address": format_mac(peer_mac), "mtu": mtu, "net_ns_pid": peer_pid}
    netlink.link("add", kind="veth", ifname=name, address=format_mac(mac), mtu=mtu, peer=far)


def set_flags(netlink: Any, index: int, flags: int) -> None:
    """Set these (UP, PROMISCUOUS); leave the others."""
    netlink.link("set", index=index, flags=flags, change=flags)


def clear_flags(netlink: Any, index: int, flags: int) -> None:
    """Take these away; leave the others."""
    netlink.link("set", index=index, flags=0, change=flags)


def add_address(netlink: Any, index: int, ip: bytes, prefix_length: int) -> None:
    """`ip`: 4 bytes."""
    netlink.addr("add", index=index, address=format_ip(ip), prefixlen=prefix_length)


def add_neighbours(netlink: Any, index: int, neighbours: Iterable[tuple[bytes, bytes]]) -> None:
    """(ip, mac) each, permanent: no host asks for them by ARP. A host knows all others, so that these are by far the
    most requests of a network; many go in one system call."""
    requests = [_neighbour(index, ip, mac) for ip, mac in neighbours]
    for start in range(0, len(requests), _BATCH):
        netlink.nlm_request_batch(requests[start : start + _BATCH])


def _neighbour(index: int, ip: bytes, mac: bytes) -> ndmsg:
    request = ndmsg()
    request["family"], request["ifindex"], request["state"] = _AF_INET, index, _PERMANENT
    request["attrs"] = [("NDA_DST", format_ip(ip)), ("NDA_LLADDR", format_mac(mac))]
    request["header"]["type"] = RTM_NEWNEIGH
    request["header"]["flags"] = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    return request


def read_links(netlink: Any) -> dict[int, LinkReading]:
    """All interfaces of the namespace, by index."""
    return {
        link["index"]: LinkReading(
            link["index"],
            link.get_attr("IFLA_IFNAME"),
            link["flags"],
            link.get_attr("IFLA_MTU"),
            link.get_attr("IFLA_ADDRESS"),
            link.get_attr("IFLA_CARRIER") == 1,
            link.get_attr("IFLA_OPERSTATE") == "UP",
        )
        for link in netlink.get_links()
    }


def read_addresses(netlink: Any) -> list[str]:
    """IPv4 addresses of the namespace."""
    return [entry.get_attr("IFA_ADDRESS") for entry in netlink.get_addr(family=_AF_INET)]
