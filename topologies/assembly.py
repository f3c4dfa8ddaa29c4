"""From nodes and cables to a Topology: names and ports of the links, and what every graph of ours must hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from topologies.addressing import host_ip, host_mac
from topologies.graph import Link, LinkShape, Node, Role, Topology

__all__ = ["Cable", "assemble", "host", "switch"]


@dataclass(frozen=True, slots=True)
class Cable:
    """A link before its ports are known. `a` is the lower end: the host, or the switch that is nearer to hosts."""

    a: str
    b: str
    shape: LinkShape
    parallel: int = 0
    """number of this link among several parallel ones, from 1; 0: the only one between its ends"""

    @property
    def name(self) -> str:
        return f"{self.a}-{self.b}-{self.parallel}" if self.parallel else f"{self.a}-{self.b}"


def host(number: int, name: str = "") -> Node:
    """Host `number` (from 1) with the addresses of the plan."""
    return Node(name or f"h{number}", Role.HOST, host_mac(number), host_ip(number))


def switch(name: str, part: str = "") -> Node:
    return Node(name, Role.SWITCH, bytes(6), b"", part)


def assemble(
    kind: str, nodes: Iterable[Node], cables: Iterable[Cable], overrides: Mapping[str, LinkShape] | None = None
) -> Topology:
    """Ports are numbered from 0 at each node, in the order of the cables. `overrides`: shapes of single links, by name.

    Raises ValueError for a name that two nodes have, an end that is no node, and a link from a node to itself. Also for
    two links between the same nodes without numbers of their own."""
    found = tuple(nodes)
    free = dict.fromkeys((node.name for node in found), 0)
    if len(free) != len(found):
        raise ValueError("two nodes have one name")
    links: list[Link] = []
    pairs: set[tuple[frozenset[str], int]] = set()
    for cable in cables:
        ends = frozenset((cable.a, cable.b))
        if not ends <= free.keys() or len(ends) != 2 or (ends, cable.parallel) in pairs:
            raise ValueError(f"link {cable.name}: its ends are not two nodes that no other link joins")
        pairs.add((ends, cable.parallel))
        shape = (overrides or {}).get(cable.name, cable.shape)
        links.append(Link(cable.name, cable.a, free[cable.a], cable.b, free[cable.b], shape))
        free[cable.a] += 1
        free[cable.b] += 1
    return Topology(kind, found, tuple(links))
