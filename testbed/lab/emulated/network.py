"""The networks of an emulated lab. There is one for management, where clients and sshds are, and a cable from each
worker to a port of the card. The keeper's namespace is the clients' side of the first; no namespace of the machine gets
anything.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping

from testbed.kernel.ledger import Ledger, LinkEntry, NamespaceEntry
from testbed.kernel.links import UP, add_address, add_veth_pair, set_flags
from testbed.kernel.namespaces import inside, namespace_inode
from testbed.kernel.offloads import turn_offloads_off
from testbed.lab.emulated.shape import CARD_HOST, LabShape
from topologies import PREFIX_LENGTH, host_mac

__all__ = ["build_networks"]

_BRIDGE = "lab0"
_MANAGEMENT_MTU = 9100
"""room for what tunnels add"""
FIRST_VNI, VXLAN_PORT = 100, 4789
"""same values as the inventory's defaults"""


def build_networks(shape: LabShape, pids: Mapping[str, int], ledger: Ledger) -> None:
    """`pids`: a process in each host's namespace. We are in a namespace of our own. Raises OSError, NetlinkError."""
    from pyroute2 import IPRoute

    own = namespace_inode()
    with IPRoute() as netlink:
        ledger.note(NamespaceEntry(own, "keeper"))
        ledger.note(LinkEntry(_BRIDGE, own))
        netlink.link("add", kind="bridge", ifname=_BRIDGE)
        bridge = netlink.link_lookup(ifname=_BRIDGE)[0]
        add_address(netlink, bridge, socket.inet_aton(shape.gateway), 24)
        set_flags(netlink, bridge, UP)
        for number, host in enumerate(shape.all_hosts):
            ledger.note(NamespaceEntry(namespace_inode(pids[host]), host))
            name = f"m-{host}"
            ledger.note(LinkEntry(name, own))
            mac, far = bytes((2, 0x4C, 1, 0, 0, number)), bytes((2, 0x4C, 2, 0, 0, number))
            add_veth_pair(netlink, name, mac, "m0", far, pids[host], _MANAGEMENT_MTU)
            index = netlink.link_lookup(ifname=name)[0]
            netlink.link("set", index=index, master=bridge)
            set_flags(netlink, index, UP)
    for host in shape.all_hosts:
        _set_up(pids[host], {"m0": socket.inet_aton(shape.address(host))}, 24)
    if not shape.card:
        for host in shape.workers:
            _lonely_interface(shape, host, pids[host], ledger)
        return
    card = pids[CARD_HOST]
    if shape.tunnels:
        _tunnels(shape, card, ledger)
        return
    for number, host in enumerate(shape.workers):
        ledger.note(LinkEntry("d0", namespace_inode(pids[host])))
        with inside(pids[host]), IPRoute() as netlink:
            port_mac = bytes((2, 0x4C, 3, 0, 0, number))
            add_veth_pair(netlink, "d0", host_mac(number + 1), f"p{number}", port_mac, card, shape.mtu)
        _set_up(pids[host], {"d0": shape.data_address(host)}, PREFIX_LENGTH, data=True)
        _set_up(card, {f"p{number}": None}, 0, data=True)


def _tunnels(shape: LabShape, pid: int, ledger: Ledger) -> None:
    """The far ends: data ports that send to the clients' side."""
    from pyroute2 import IPRoute

    with inside(pid), IPRoute() as netlink:
        for number in range(shape.hosts):
            ledger.note(LinkEntry(f"p{number}", namespace_inode(pid)))
            netlink.link(
                "add", kind="vxlan", ifname=f"p{number}", vxlan_id=FIRST_VNI + number, vxlan_port=VXLAN_PORT,
                vxlan_local=shape.address(CARD_HOST), vxlan_group=shape.gateway, vxlan_learning=0,
            )  # fmt: skip
    for number in range(shape.hosts):
        _set_up(pid, {f"p{number}": None}, 0, data=True)


def _lonely_interface(shape: LabShape, host: str, pid: int, ledger: Ledger) -> None:
    """Without a card, both ends of the cable are on the host."""
    from pyroute2 import IPRoute

    number = shape.workers.index(host)
    ledger.note(LinkEntry("d0", namespace_inode(pid)))
    with inside(pid), IPRoute() as netlink:
        add_veth_pair(netlink, "d0", host_mac(number + 1), "d1", bytes((2, 0x4C, 3, 0, 0, number)), pid, shape.mtu)
    _set_up(pid, {"d0": shape.data_address(host), "d1": None}, PREFIX_LENGTH, data=True)


def _set_up(pid: int, addresses: Mapping[str, bytes | None], prefix: int, *, data: bool = False) -> None:
    from pyroute2 import IPRoute

    with inside(pid), IPRoute() as netlink, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        set_flags(netlink, netlink.link_lookup(ifname="lo")[0], UP)
        for name, address in addresses.items():
            index = netlink.link_lookup(ifname=name)[0]
            if data:
                turn_offloads_off(probe, name)
            if address is not None:
                add_address(netlink, index, address, prefix)
            set_flags(netlink, index, UP)
