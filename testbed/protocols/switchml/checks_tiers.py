"""Which switches sum a SwitchML job whose hosts are in several racks."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from topologies import Role, Topology

__all__ = ["leaf_address", "leaves_of", "port_between", "roots_of"]

_FIRST_LEAF = 2
"""last byte of the addresses of the first leaf: the service has 1 (`testbed.plan.jobs.SERVICE_IP`)"""


def leaves_of(topology: Topology, hosts: Iterable[str]) -> frozenset[str]:
    """The first switch of each host, as `testbed.plan.jobs.switch_of` has it."""
    return frozenset(next(iter(_neighbours(topology, host))) for host in hosts)


def roots_of(topology: Topology, leaves: Collection[str]) -> tuple[str, ...]:
    """Switches without hosts that are linked to every leaf."""
    return tuple(
        node.name
        for node in topology.switches
        if node.name not in leaves
        and not any(topology.node(other).role is Role.HOST for other in _neighbours(topology, node.name))
        and set(leaves) <= set(_neighbours(topology, node.name))
    )


def port_between(topology: Topology, node: str, neighbour: str) -> int:
    """Of several links the first one's."""
    return _neighbours(topology, node)[neighbour]


def leaf_address(number: int) -> tuple[bytes, bytes]:
    """(MAC, IPv4) of a leaf switch as a worker of the root."""
    last = _FIRST_LEAF + number
    return bytes.fromhex("02494e41ff") + bytes((last,)), bytes((10, 77, 255, last))


def _neighbours(topology: Topology, node: str) -> dict[str, int]:
    """Port of `node` by node behind it."""
    found: dict[str, int] = {}
    for port, link, _ in topology.ports(node):
        found.setdefault(link.b if link.a == node else link.a, port)
    return found
