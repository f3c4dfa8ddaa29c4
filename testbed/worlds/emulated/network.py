"""From a Topology to a Mininet network of ours, and the proof that the kernel did what was asked.

Interfaces are named `{node}-{port}.{tag}`: 15 characters at most, `tag` drawn per run, so that names of different runs
never meet. The ledger, not the pattern, says what is ours. Both ends of every pair are made inside the namespaces of
their nodes. Delay and jitter are not done here but by the ports of the switch. A link whose faults the kernel carries
out has a joint (`splices`).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from pyroute2.netlink.exceptions import NetlinkError

from switch_nodes.dataplane.clock import EmulatedClock
from testbed.kernel.ledger import Ledger, NamespaceEntry, QdiscEntry
from testbed.kernel.links import (
    PROMISCUOUS,
    UP,
    LinkReading,
    add_address,
    add_neighbours,
    clear_flags,
    read_addresses,
    read_links,
    set_flags,
)
from testbed.kernel.offloads import read_offloads, turn_offloads_off
from testbed.kernel.queues import read_waiting
from testbed.kernel.receive_queues import processor_for, receive_on
from testbed.kernel.shaping import QdiscReading, change_rate, read_qdisc, read_qdiscs, shape
from testbed.worlds.emulated.dilation import KernelShape, kernel_shape
from testbed.worlds.emulated.mininet_nodes import ProgramHost, ProgramSwitch, QuietMininet, ShapedLink, silence
from testbed.worlds.emulated.namespace_sockets import NamespaceSockets
from testbed.worlds.emulated.queue_room import room, serves_classes
from testbed.worlds.emulated.splices import Splices
from topologies import PREFIX_LENGTH, Direction, Link, Node, Role, Topology, format_ip, format_mac
from workloads.errors import HostCapabilityError, InternalError

__all__ = ["Network", "build", "interface_name"]

_TAG_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_TAG_LENGTH = 5
_NAME_LIMIT = 15
"""IFNAMSIZ - 1, include/uapi/linux/if.h"""
_CARRIER_TIMEOUT_S = 5.0
_VETH_LIMITS = (68, 65_535)


def new_tag() -> str:
    return "".join(secrets.choice(_TAG_LETTERS) for _ in range(_TAG_LENGTH))


def interface_name(topology: Topology, node: str, port: int, tag: str) -> str:
    """Long node names are replaced by `n{their number}`, so that two of them never become one."""
    suffix = f"-{port}.{tag}"
    if len(node) + len(suffix) > _NAME_LIMIT:
        number = next(number for number, other in enumerate(topology.nodes) if other.name == node)
        node = f"n{number}"
    return node + suffix


class Network:
    """A built network. `stop` removes it."""

    def __init__(
        self,
        topology: Topology,
        ledger: Ledger,
        tag: str,
        spliced: Collection[str] = (),
        clock: EmulatedClock | None = None,
        *,
        exact: bool = False,
        lossless: bool = False,
        ports: Collection[int] = (),
    ) -> None:
        """`spliced`: names of links with a joint. `clock`: of the time that their rates are in. `exact`: frames are to
        come one by one. `lossless`: nodes keep the queues and rates of their ports themselves. `ports`: of UDP, that
        programs on hosts read; none: those of the built-in transports."""
        self.clock, self.exact, self.lossless = clock or EmulatedClock(), exact, lossless
        self.spliced = frozenset(spliced)
        self.splices: Splices | None = None
        self.topology, self.ledger, self.tag, self.ports = topology, ledger, tag, tuple(ports)
        self.mininet: Any = QuietMininet(topo=None, controller=None, build=False)
        self.order = {node.name: number for number, node in enumerate(topology.nodes)}
        """place of a node in the topology"""
        self._sockets: dict[str, NamespaceSockets] = {}

    def interface(self, node: str, port: int) -> str:
        return interface_name(self.topology, node, port, self.tag)

    def interfaces(self, node: str) -> tuple[str, ...]:
        """Of a node, in port order."""
        ports = sorted(port for port, _, _ in self.topology.ports(node))
        return tuple(self.interface(node, port) for port in ports)

    def pid(self, node: str) -> int:
        """Of the shell that holds the node's namespace."""
        return int(self.mininet[node].pid)

    def _sender(self, link: Link, direction: Direction) -> tuple[NamespaceSockets, int]:
        """Where a direction is shaped: at the interface that sends into it."""
        node, port = (link.a, link.a_port) if direction is Direction.UP else (link.b, link.b_port)
        sockets = self._sockets[node]
        return sockets, sockets.index[self.interface(node, port)]

    def kept(self, link: Link, sender: str, rate_bps: int | None = None) -> KernelShape:
        """As the kernel is to keep it behind a node, at its own rate or another. A host keeps to the pace by itself,
        and what it was late with may follow at once."""
        rate_bps = link.shape.rate_bps if rate_bps is None else rate_bps
        exact = self.exact and not self.lossless and self.topology.node(sender).role is Role.SWITCH
        return kernel_shape(self.clock, rate_bps, link.shape.mtu, exact=exact)

    def read_shaping(self, link: Link, direction: Direction) -> QdiscReading:
        """Its rate is the kernel's, in real time. Raises InternalError when our qdisc is not there."""
        sockets, index = self._sender(link, direction)
        reading = read_qdisc(sockets.netlink, index)
        if reading is None:
            raise InternalError(f"link {link.name} {direction}: its HTB class has gone")
        return reading

    def waiting(self, node: str) -> dict[int, int]:
        """Frames in the queues of a node's ports, by port."""
        sockets = self._sockets[node]
        lengths = read_waiting(sockets.queues)
        indices = {port: sockets.index[self.interface(node, port)] for port, _, _ in self.topology.ports(node)}
        return {port: lengths[index] for port, index in indices.items() if index in lengths}

    def set_rate(self, link: Link, direction: Direction, rate_bps: int) -> None:
        """`rate_bps` in emulated time. Raises HostCapabilityError when the kernel refuses, InternalError when it does
        not show this rate afterwards."""
        sockets, index = self._sender(link, direction)
        kept = self.kept(link, link.a if direction is Direction.UP else link.b, rate_bps)
        with _asking(f"change the rate of link {link.name} {direction}"):
            change_rate(sockets.netlink, index, rate_bps=kept.rate_bps, mtu=link.shape.mtu, burst=kept.burst_bytes)
        _require(f"link {link.name} {direction}: rate", kept.rate_bps, self.read_shaping(link, direction).rate_bps)

    def set_state(self, node: str, port: int, *, up: bool) -> None:
        """Of an interface; without it the far end of its link has no carrier. Raises HostCapabilityError."""
        sockets = self._sockets[node]
        index = sockets.index[self.interface(node, port)]
        with _asking(f"set port {port} of {node} {'up' if up else 'down'}"):
            (set_flags if up else clear_flags)(sockets.netlink, index, UP)
            for end, link, _ in self.topology.ports(node):
                if end == port and link.name in self.spliced and self.splices is not None:
                    self.splices.set_carrier(link, link.b if node == link.a else link.a, up=up)

    def stop(self) -> None:
        """Ends the shells; namespaces, interfaces and qdiscs go with them. Safe on a half-built network, and twice."""
        nodes = [*self.mininet.hosts, *self.mininet.switches]
        for sockets in self._sockets.values():
            sockets.close()
        self._sockets.clear()
        if self.splices is not None:
            self.splices.close()
            self.splices = None
        for node in nodes:
            node.sockets = None
            node.terminate()
        self.mininet.hosts.clear()
        self.mininet.switches.clear()
        self.mininet.links.clear()


def build(
    topology: Topology,
    ledger: Ledger,
    check_interrupt: Callable[[], None] = lambda: None,
    spliced: Collection[str] = (),
    clock: EmulatedClock | None = None,
    *,
    exact: bool = False,
    lossless: bool = False,
    ports: Collection[int] = (),
) -> Network:
    """All of it or nothing, for the rest as `Network`. Raises HostCapabilityError when the kernel refuses a wish,
    InternalError when it accepted one and did something else, or when Mininet fails; `check_interrupt` is asked between
    the steps and may raise."""
    silence()
    network = Network(topology, ledger, new_tag(), spliced, clock, exact=exact, lossless=lossless, ports=ports)
    try:
        _Builder(network).build(check_interrupt)
    except BaseException:
        network.stop()
        raise
    return network


class _Builder:
    def __init__(self, network: Network) -> None:
        self._network, self._topology, self._ledger = network, network.topology, network.ledger

    def build(self, check_interrupt: Callable[[], None]) -> None:
        for link in self._topology.links:
            if not _VETH_LIMITS[0] <= link.shape.mtu <= _VETH_LIMITS[1]:
                raise HostCapabilityError(
                    f"links with an MTU of {link.shape.mtu} bytes ({link.name})",
                    f"use {_VETH_LIMITS[0]} to {_VETH_LIMITS[1]}",
                )
        for number, node in enumerate(self._topology.nodes, start=1):
            check_interrupt()
            self._add_node(node, number)
        for node in self._topology.nodes:
            self._greet(node)
        for node in self._topology.nodes:
            check_interrupt()
            self._enter(node)
        if self._network.spliced:
            self._kernel("make a namespace for joints of links", self._make_splices)
        for link in self._topology.links:
            check_interrupt()
            self._kernel(f"make link {link.name}", partial(self._add_link, link))
        for node in self._topology.nodes:
            check_interrupt()
            self._kernel(f"configure {node.name}", partial(self._configure, node))
        for node in self._topology.nodes:
            check_interrupt()
            self._kernel(f"check {node.name}", partial(self._verify, node))

        if self._network.splices is not None:
            self._network.splices.settle()

    def _make_splices(self) -> None:
        self._network.splices = Splices(self._ledger)

    def _kernel(self, what: str, step: Callable[[], None]) -> None:
        with _asking(what):
            step()

    def _add_node(self, node: Node, number: int) -> None:
        network = self._network
        # Mininet reports trouble by whatever exception it stumbles over, exit() included.
        try:
            if node.role is Role.HOST:
                network.mininet.addHost(node.name, cls=ProgramHost, ledger=self._ledger, inNamespace=True)
            else:
                network.mininet.addSwitch(
                    node.name, cls=ProgramSwitch, ledger=self._ledger, inNamespace=True, dpid=f"{number:x}"
                )
        except (Exception, SystemExit) as error:
            raise InternalError(f"Mininet could not start node {node.name}: {error!r}") from error

    def _greet(self, node: Node) -> None:
        try:
            self._network.mininet[node.name].greet()
        except OSError as error:
            raise InternalError(f"the shell of node {node.name} ended: {error}") from error

    def _enter(self, node: Node) -> None:
        made = self._network.mininet[node.name]
        try:
            made.settle()
            sockets = NamespaceSockets(made.pid)
        except OSError as error:
            raise InternalError(f"cannot enter the namespace of node {node.name}: {error}") from error
        self._network._sockets[node.name] = made.sockets = sockets
        self._ledger.note(NamespaceEntry(sockets.inode, node.name))

    def _add_link(self, link: Link) -> None:
        network = self._network
        ends = ((link.a, link.a_port), (link.b, link.b_port))
        macs = [self._mac(node, port) for node, port in ends]
        network.mininet.addLink(
            *(node for node, _ in ends),
            port1=link.a_port,
            port2=link.b_port,
            cls=ShapedLink,
            link=link,
            splices=network.splices if link.name in network.spliced else None,
            intfName1=network.interface(*ends[0]),
            intfName2=network.interface(*ends[1]),
            addr1=macs[0],
            addr2=macs[1],
        )

    def _mac(self, name: str, port: int) -> bytes:
        """A switch port has no address in the plan; the kernel wants one, so it gets one outside the plan's prefix."""
        node = self._topology.node(name)
        if node.role is Role.HOST and port == 0:
            return node.mac
        number = self._network.order[name]
        return bytes((0x02, 0x49, 0x4E, 0x53, number & 0xFF, port & 0xFF))

    def _configure(self, node: Node) -> None:
        sockets = self._network._sockets[node.name]
        sockets.learn_indices()
        netlink = sockets.netlink
        set_flags(netlink, sockets.index["lo"], UP)
        for port, link, _ in self._topology.ports(node.name):
            name = self._network.interface(node.name, port)
            index = sockets.index[name]
            turn_offloads_off(sockets.socket, name)
            receive_on(sockets.pid, name, processor_for(self._network.order[node.name] + port))
            self._ledger.note(QdiscEntry(name, sockets.inode, "htb"))
            kept = self._network.kept(link, node.name)
            shape(
                netlink,
                index,
                rate_bps=kept.rate_bps,
                queue_packets=room(node, link, lossless=self._network.lossless),
                mtu=link.shape.mtu,
                burst=kept.burst_bytes,
                serves_classes=serves_classes(node, link, lossless=self._network.lossless),
            )
            set_flags(netlink, index, _flags(node))
            if node.role is Role.HOST and port == 0:
                add_address(netlink, index, node.ip, PREFIX_LENGTH)
                others = ((other.ip, other.mac) for other in self._topology.hosts if other.name != node.name)
                add_neighbours(netlink, index, others)
                interface = self._network.mininet[node.name].nameToIntf[name]
                interface.ip, interface.prefixLen = format_ip(node.ip), str(PREFIX_LENGTH)
        if node.role is Role.HOST:
            sockets.absorb_datagrams(self._network.ports)

    def _ready_links(self, node: Node, sockets: NamespaceSockets) -> dict[int, LinkReading]:
        """By index, once every interface of this node would send. The end of a pair that was set up first starts to
        send when the kernel handles its carrier. That is at once but not within our call, and shows in its operational
        state. The other end started within our call, though its state may take a second to show it."""
        order = self._network.order
        first = {
            sockets.index[self._network.interface(node.name, port)]
            for port, link, _ in self._topology.ports(node.name)
            if order[node.name] < max(order[link.a], order[link.b]) and link.name not in self._network.spliced
        }
        deadline = time.monotonic() + _CARRIER_TIMEOUT_S
        while True:
            links = read_links(sockets.netlink)
            waiting = [index for index in first if not links[index].operational]
            if not waiting:
                return links
            if time.monotonic() > deadline:
                raise InternalError(f"{node.name}: no carrier on {len(waiting)} interfaces")
            time.sleep(0.002)

    def _verify(self, node: Node) -> None:
        sockets = self._network._sockets[node.name]
        links = self._ready_links(node, sockets)
        ports = list(self._topology.ports(node.name))
        indices = [sockets.index[self._network.interface(node.name, port)] for port, _, _ in ports]
        readings, lossless = read_qdiscs(sockets.netlink, indices), self._network.lossless
        for (port, link, _), index in zip(ports, indices, strict=True):
            name = self._network.interface(node.name, port)
            place = f"link {link.name} at {node.name}"
            state = links[index]
            _require(f"{place}: flags", _flags(node), state.flags & _flags(node))
            _require(f"{place}: carrier", True, state.carrier)
            _require(f"{place}: MTU", link.shape.mtu, state.mtu)
            _require(f"{place}: MAC", format_mac(self._mac(node.name, port)), state.mac)
            for offload, on in read_offloads(sockets.socket, name).items():
                _require(f"{place}: offload {offload}", False, on)
            reading = readings.get(index)
            if reading is None:
                raise InternalError(f"{place}: its HTB class is not there")
            kept = self._network.kept(link, node.name)
            _require(f"{place}: rate", kept.rate_bps, reading.rate_bps)
            _require(f"{place}: queue", room(node, link, lossless=lossless), reading.queue_packets)
            _require(f"{place}: classes", serves_classes(node, link, lossless=lossless), reading.serves_classes)
        if node.role is Role.HOST and ports:
            addresses = read_addresses(sockets.netlink)
            if format_ip(node.ip) not in addresses:
                raise InternalError(
                    f"{node.name}: asked for address {format_ip(node.ip)}, the kernel shows {addresses}"
                )


@contextmanager
def _asking(what: str) -> Iterator[None]:
    """The kernel's refusals of netlink and of ioctls as HostCapabilityError."""
    try:
        yield
    except (NetlinkError, OSError) as error:
        # Of both, args are a number and the words for it.
        words = error.strerror if isinstance(error, OSError) else error.args[-1]
        raise HostCapabilityError(
            f"what is needed to {what} (the kernel says: {words})", "run `tb doctor` to see what is missing"
        ) from error


def _flags(node: Node) -> int:
    return UP if node.role is Role.HOST else UP | PROMISCUOUS


def _require(what: str, asked: object, found: object) -> None:
    """The kernel may round or ignore a wish without a word; a weaker network than asked is no network."""
    if asked != found:
        raise InternalError(f"{what}: asked for {asked}, the kernel shows {found}")
