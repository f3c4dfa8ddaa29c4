"""Trees along which switches combine what several hosts send to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from topologies.graph import Direction, Topology
from topologies.routing.shortest import next_hops

__all__ = ["Junction", "combining_tree"]


@dataclass(frozen=True, slots=True)
class Junction:
    """A switch of such a tree."""

    up: int
    """port towards the root"""
    above: str
    """node at that port: a switch of the tree, or the root"""
    below: Mapping[int, tuple[int, ...]]
    """by port, ascending: places in the list of hosts of those that are behind it"""


def combining_tree(topology: Topology, root: str, hosts: Sequence[str], number: int = 0) -> Mapping[str, Junction]:
    """By switch, of shortest paths from the hosts to the host `root`. `number`: trees with different ones take
    different paths, where there are several."""
    ways = next_hops(topology)
    below: dict[str, dict[int, set[int]]] = {}
    for place, host in enumerate(hosts):
        node, came = _first(topology, host)
        while node != root:
            below.setdefault(node, {}).setdefault(came, set()).add(place)
            ports = ways[node, root]
            node, came = _across(topology, node, ports[number % len(ports)])
    tree = {}
    for switch, behind in below.items():
        ports = ways[switch, root]
        up = ports[number % len(ports)]
        above, _ = _across(topology, switch, up)
        tree[switch] = Junction(up, above, {port: tuple(sorted(behind[port])) for port in sorted(behind)})
    return tree


def _first(topology: Topology, host: str) -> tuple[str, int]:
    """The switch that a host is at, and the port there."""
    port, _, _ = next(iter(topology.ports(host)))
    return _across(topology, host, port)


def _across(topology: Topology, node: str, port: int) -> tuple[str, int]:
    """(node, port) at the other end of the link at that port."""
    for own, link, direction in topology.ports(node):
        if own == port:
            return (link.b, link.b_port) if direction is Direction.DOWN else (link.a, link.a_port)
    raise KeyError(f"{node} has no port {port}")
