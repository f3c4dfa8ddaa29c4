"""Links cut in two and joined again, where the kernel loses or changes frames between the two pieces.

Faults of a link that ends at no node of ours cannot sit at its ends. A packet socket on all protocols, by which Open
vSwitch and our hosts read, gets a frame before any ingress hook of its interface. A qdisc of the sender is in the way
of our shaping. So the link becomes two veth pairs. Their inner ends, the sides of the joint, lie in a namespace that no
node sees. What comes in at one side meets its faults there and leaves by the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyroute2 import IPRoute

from testbed.kernel.ledger import Ledger, LinkEntry, NamespaceEntry
from testbed.kernel.links import UP, add_veth_pair, clear_flags, read_links, set_flags
from testbed.kernel.namespaces import PrivateNetwork
from testbed.kernel.receive_queues import processor_for, receive_all_on
from testbed.worlds.emulated.namespace_sockets import turn_ipv6_off
from topologies import Direction, Link
from workloads.errors import InternalError

__all__ = ["Splices"]

_TIMEOUT_S = 5.0


class Splices:
    """Of one network. The namespace lives as long as this object and the processes that it is forked into."""

    def __init__(self, ledger: Ledger) -> None:
        """Raises OSError."""
        self._ledger = ledger
        self._network = PrivateNetwork()
        with self._network.inside():
            turn_ipv6_off()
            receive_all_on(processor_for(0))
            self._netlink: Any = IPRoute(ext_ack=True)
        ledger.note(NamespaceEntry(self._network.inode, "joints of links"))
        self._numbers: dict[str, int] = {}
        self._indices: dict[str, int] = {}

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The calling thread is in the namespace of the joints meanwhile."""
        with self._network.inside():
            yield

    def sides(self, link: Link, direction: Direction) -> tuple[str, str]:
        """(where frames of this direction come in, where they leave): interfaces in the namespace of the joints."""
        number = self._numbers[link.name]
        a, b = f"j{number}a", f"j{number}b"
        return (a, b) if direction is Direction.UP else (b, a)

    def add(self, link: Link, ends: tuple[tuple[str, bytes, int], tuple[str, bytes, int]]) -> None:
        """`ends`: interface, MAC and process of the node at each end, as in `link`. Raises NetlinkError."""
        self._numbers[link.name] = len(self._numbers)
        for side, (name, mac, pid) in zip(self.sides(link, Direction.UP), ends, strict=True):
            self._ledger.note(LinkEntry(side, self._network.inode))
            number = len(self._indices)
            own_mac = bytes((0x02, 0x49, 0x4E, 0x4A, number >> 8 & 0xFF, number & 0xFF))
            add_veth_pair(self._netlink, side, own_mac, name, mac, pid, link.shape.mtu)
            [self._indices[side]] = self._netlink.link_lookup(ifname=side)
            set_flags(self._netlink, self._indices[side], UP)

    def set_carrier(self, link: Link, node: str, *, up: bool) -> None:
        """Of the interface of `node`, an end of the link: as a link without a joint passes it on from the other end."""
        [side, _] = self.sides(link, Direction.UP if node == link.a else Direction.DOWN)
        (set_flags if up else clear_flags)(self._netlink, self._indices[side], UP)

    def settle(self) -> None:
        """Until all sides would send: before that the kernel throws away what they are given. Raises InternalError."""
        deadline = time.monotonic() + _TIMEOUT_S
        while waiting := [
            item.name
            for item in read_links(self._netlink).values()
            if item.name in self._indices and not item.operational
        ]:
            if time.monotonic() > deadline:
                raise InternalError(f"joints of links: no carrier on {', '.join(waiting)}")
            time.sleep(0.002)

    def close(self) -> None:
        self._netlink.close()
        self._network.close()
