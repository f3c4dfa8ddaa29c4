"""A rack: hosts h1..hN, each with one link to switch s1 (port i-1 leads to h_i)."""

from __future__ import annotations

from collections.abc import Mapping

from topologies.addressing import host_ip, host_mac
from topologies.graph import Link, LinkShape, Node, Role, Topology

__all__ = ["rack"]


def rack(hosts: int, shape: LinkShape, overrides: Mapping[str, LinkShape] | None = None) -> Topology:
    """`overrides` gives single links a shape of their own, by link name (`h1-s1`)."""
    names = [f"h{number}" for number in range(1, hosts + 1)]
    nodes = [Node(name, Role.HOST, host_mac(n), host_ip(n)) for n, name in enumerate(names, start=1)]
    nodes.append(Node("s1", Role.SWITCH, bytes(6), b""))
    links = [
        Link(f"{name}-s1", name, 0, "s1", port, (overrides or {}).get(f"{name}-s1", shape))
        for port, name in enumerate(names)
    ]
    return Topology("rack", tuple(nodes), tuple(links))
