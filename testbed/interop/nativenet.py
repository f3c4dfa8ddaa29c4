"""Interfaces with rxe devices on this host's own kernel, their wires in a namespace of ours.

Each device sits on one end of a veth pair; our switch has the other end, always in a private network namespace. The
devices' ends are in the same namespace, or in the initial one where the kernel's rxe knows no other. Either way they go
with this process. A namespace without processes and sockets takes its ends of pairs with it, and a pair goes as a
whole.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from switch_nodes.dataplane.sockets import PortSocket, open_ports
from testbed.interop.wires import MTU
from testbed.kernel.namespaces import PrivateNetwork
from testbed.kernel.offloads import turn_offloads_off
from testbed.kernel.rxe import add_rxe
from topologies import PREFIX_LENGTH, format_ip, format_mac, host_ip, host_mac
from workloads.errors import HostCapabilityError
from workloads.verbs.gids import device_names

__all__ = ["NativeNetwork", "device_sysctls", "refuse_taken", "rp_filter_off"]

_SYSCTL = Path("/proc/sys/net")
_SWITCH_END_SYSCTLS = (("ipv6/conf/{}/disable_ipv6", "1"), ("ipv4/conf/{}/arp_ignore", "8"))


def device_sysctls(interface: str) -> tuple[tuple[str, str], ...]:
    """(path below /proc/sys/net, value): what one kernel needs to talk to itself over our wires, for one interface."""
    v4, v6 = f"ipv4/conf/{interface}", f"ipv6/conf/{interface}"
    return (
        (f"{v6}/disable_ipv6", "1"),
        (f"{v4}/accept_local", "1"),
        (f"{v4}/rp_filter", "0"),
        (f"{v4}/arp_ignore", "1"),
        (f"{v4}/arp_announce", "2"),
    )


def refuse_taken(devices: int, names: tuple[str, ...], addresses: list[str]) -> None:
    """Raises HostCapabilityError when the host already uses a device name or an address that we need."""
    for name in (f"rxe{number}" for number in range(devices)):
        if name in names:
            raise HostCapabilityError(
                f"the device name {name}: there is one already", f"`rdma link delete {name}`, or --where qemu"
            )
    ours = ip_network(f"{format_ip(host_ip(1))}/{PREFIX_LENGTH}", strict=False)
    for address in addresses:
        if ip_address(address) in ours:
            raise HostCapabilityError(f"the network {ours}: this host has {address}", "--where qemu")


@contextlib.contextmanager
def rp_filter_off(root: Path = _SYSCTL) -> Iterator[None]:
    """The setting for all interfaces counts in addition to that of each; it comes back afterwards."""
    path = root / "ipv4" / "conf" / "all" / "rp_filter"
    before = path.read_text(encoding="ascii")
    path.write_text("0\n", encoding="ascii")
    try:
        yield
    finally:
        path.write_text(before, encoding="ascii")


@dataclass(frozen=True, slots=True)
class NativeNetwork:
    """Ports and interfaces of device i are those at index i."""

    private: PrivateNetwork
    initial: bool
    """the devices are in the namespace that we came from"""
    interfaces: tuple[str, ...]
    ports: list[PortSocket]

    @contextlib.contextmanager
    def among_devices(self) -> Iterator[None]:
        """The calling thread is in the namespace of the devices."""
        with contextlib.nullcontext() if self.initial else self.private.inside():
            yield

    @classmethod
    @contextlib.contextmanager
    def build(
        cls, devices: int, *, initial: bool, add: Callable[[str, str], None] = add_rxe
    ) -> Iterator[NativeNetwork]:
        """Raises HostCapabilityError when names or addresses are taken, or the kernel refuses; OSError without root."""
        from pyroute2 import IPRoute
        from pyroute2.netlink.exceptions import NetlinkError

        with contextlib.ExitStack() as undo:
            private = PrivateNetwork()
            undo.callback(private.close)
            tag = secrets.token_hex(2)
            near = tuple(f"tbr{number}.{tag}" for number in range(devices))
            far = tuple(f"tbs{number}.{tag}" for number in range(devices))
            network = cls(private, initial, near, [])
            if initial:
                with IPRoute() as netlink:
                    used = [address.get_attr("IFA_ADDRESS") for address in netlink.get_addr(family=2)]
                refuse_taken(devices, device_names(), used)
            undo.callback(_remove, private, far)
            try:
                with private.inside(), IPRoute() as netlink:
                    netlink.link("set", index=netlink.link_lookup(ifname="lo")[0], state="up")
                    for number in range(devices):
                        _add_pair(netlink, near[number], far[number], number, private.home if initial else None)
                    _write_sysctls([(path.format(end), value) for end in far for path, value in _SWITCH_END_SYSCTLS])
                    for end in far:
                        netlink.link("set", index=netlink.link_lookup(ifname=end)[0], state="up")
                    _turn_offloads_off(far)
                    network.ports.extend(open_ports(far, backpressure=False))
                    for port in network.ports:
                        undo.callback(port.socket.close)
                with network.among_devices():
                    undo.enter_context(rp_filter_off() if initial else contextlib.nullcontext())
                    _turn_offloads_off(near)
                    _write_sysctls([setting for interface in near for setting in device_sysctls(interface)])
                    if not initial:
                        _write_sysctls([("ipv4/conf/all/rp_filter", "0")])
                    with IPRoute() as netlink:
                        for number, interface in enumerate(near):
                            index = netlink.link_lookup(ifname=interface)[0]
                            netlink.addr(
                                "add", index=index, address=format_ip(host_ip(number + 1)), prefixlen=PREFIX_LENGTH
                            )
                            netlink.link("set", index=index, state="up")
                    for number, interface in enumerate(near):
                        add(f"rxe{number}", interface)
            except NetlinkError as error:
                raise HostCapabilityError(f"interfaces for rxe devices ({error})", "root, or --where qemu") from error
            yield network


def _add_pair(netlink: Any, near: str, far: str, number: int, home: int | None) -> None:
    peer: dict[str, Any] = {"ifname": near, "mtu": MTU, "address": format_mac(host_mac(number + 1))}
    if home is not None:
        peer["net_ns_fd"] = home
    netlink.link("add", ifname=far, kind="veth", mtu=MTU, peer=peer)


def _turn_offloads_off(interfaces: tuple[str, ...]) -> None:
    """Otherwise TCP (perftest's other channel) leaves without checksums, which our switch passes on as they are."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for interface in interfaces:
            turn_offloads_off(control, interface)


def _write_sysctls(settings: list[tuple[str, str]]) -> None:
    for path, value in settings:
        place = _SYSCTL / path
        if place.exists():
            place.write_text(f"{value}\n", encoding="ascii")


def _remove(private: PrivateNetwork, ends: tuple[str, ...]) -> None:
    from pyroute2 import IPRoute

    with private.inside(), IPRoute() as netlink:
        for end in ends:
            for index in netlink.link_lookup(ifname=end):
                netlink.link("del", index=index)
