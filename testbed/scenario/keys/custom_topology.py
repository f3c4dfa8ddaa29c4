"""`kind: custom`: a topology node by node and link by link, and all that can be wrong with one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from testbed.reading.changes import difference, with_changes
from testbed.reading.keytypes import At
from testbed.reading.problems import closest, show
from testbed.reading.sections import NotKnown, as_far_as_known
from testbed.scenario.keys.link import LinkChanges, check_shape
from testbed.scenario.keys.topology_keys import Custom, CustomLink, CustomNode
from topologies import (
    MAX_PORTS,
    MAX_RANKS,
    MAX_SWITCHES,
    Cable,
    LinkShape,
    Node,
    Role,
    Topology,
    assemble,
    host,
    switch,
)
from topologies.routing import component

__all__ = ["custom_keys", "load_custom"]


def load_custom(at: At, keys: Custom, shape: LinkShape) -> tuple[Topology, bool] | None:
    """(graph, whether the shapes of all its links are known), or None where a node or link is not known.

    All problems are reported, each at its node or link. `shape`: shape of links that name no other.
    """
    nodes = _load_nodes(at / "nodes", keys.nodes)
    cables = None if nodes is None else _load_cables(at / "links", keys.links, nodes, shape)
    if nodes is None or cables is None or not _check_ends(at, nodes, cables[0]):
        return None
    topology = assemble("custom", nodes.values(), [cable for _, cable in cables[0]])
    return (topology, cables[1]) if _check_connected(at, topology) else None


def _load_nodes(at: At, entries: Sequence[CustomNode | None]) -> dict[str, Node] | None:
    nodes: dict[str, Node] = {}
    good, ranks = True, 0
    for index, keys in enumerate(entries):
        name: str | None = None
        role: str | None = None
        if keys is not None:
            with as_far_as_known():
                name = keys.name
                role = keys.role
        if name is not None and name in nodes:
            first = list(nodes).index(name)
            (at / index / "name").add("two nodes have one name", found=f"'{name}', also nodes[{first}]")
            name = None
        if name is None or role is None:
            good = False
        elif role == "host":
            ranks += 1
            nodes[name] = host(ranks, name)
        else:
            nodes[name] = switch(name, "" if role == "switch" else role)
    switches = len(nodes) - ranks
    if good and not 2 <= ranks <= MAX_RANKS:
        few = "too few hosts" if ranks < 2 else "too many hosts"
        at.add(few, found=str(ranks), allowed=f"2 to {MAX_RANKS}")
        good = False
    if good and not 1 <= switches <= MAX_SWITCHES:
        few = "no switch" if not switches else "too many switches"
        at.add(few, found=str(switches), allowed=f"1 to {MAX_SWITCHES}")
        good = False
    return nodes if good else None


def _load_cables(
    at: At, entries: Sequence[CustomLink | None], nodes: dict[str, Node], plain: LinkShape
) -> tuple[list[tuple[int, Cable]], bool] | None:
    """With their places in the file; whether all their shapes are known."""
    cables: list[tuple[int, Cable]] = []
    good, known, taken = True, True, dict[frozenset[str], int]()
    for index, keys in enumerate(entries):
        ends: tuple[str, str] | None = None
        if keys is not None:
            with as_far_as_known():
                ends = _load_ends(at / index / "ends", keys.ends, nodes)
        shape = plain
        try:
            shape = plain if keys is None else with_changes(plain, keys.shape)
            known = (shape == plain or check_shape(at / index, shape)) and known
        except NotKnown:
            known = False
        if ends is not None and (pair := frozenset(ends)) in taken:
            found = f"{ends[0]} and {ends[1]}, also links[{taken[pair]}]"
            (at / index / "ends").add("duplicate link", found=found, allowed="one link between two nodes")
            ends = None
        if ends is None:
            good = False
            continue
        taken[frozenset(ends)] = index
        cables.append((index, Cable(*ends, shape)))
    return (cables, known) if good else None


def _load_ends(at: At, value: tuple[str, str], nodes: dict[str, Node]) -> tuple[str, str] | None:
    unknown = [name for name in value if name not in nodes]
    for name in unknown:
        at.add("no such node", found=show(name), allowed=", ".join(nodes), hint=closest(name, nodes))
    if unknown:
        return None
    a, b = value
    if a == b:
        at.add("a link from a node to itself", found=show(a), allowed="two nodes")
        return None
    if nodes[a].role is nodes[b].role is Role.HOST:
        at.add("a link between two hosts", found=f"{a} and {b}", allowed="a host and a switch, or two switches")
        return None
    return (b, a) if nodes[b].role is Role.HOST else (a, b)


def _check_ends(at: At, nodes: dict[str, Node], cables: list[tuple[int, Cable]]) -> bool:
    """Check that each host has one link, and that no switch has more ports than a plan can hold. The problem is
    reported at the first link too many."""
    used, good = Counter[str](), True
    for index, cable in cables:
        for name in (cable.a, cable.b):
            used[name] += 1
            is_host = nodes[name].role is Role.HOST
            if used[name] == (2 if is_host else MAX_PORTS + 1):
                here = at / "links" / index / "ends"
                if is_host:
                    here.add("a second link of a host", found=name, allowed="one link, to its switch")
                else:
                    here.add("a switch has too many ports", found=name, allowed=f"at most {MAX_PORTS}")
                good = False
    return good


def _check_connected(at: At, topology: Topology) -> bool:
    parts: list[frozenset[str]] = []
    hosts = {node.name for node in topology.hosts}
    for node in sorted(topology.nodes, key=lambda node: node.name in hosts):
        # Switches first: from a host, the search does not end at the host itself.
        if not any(node.name in part for part in parts):
            parts.append(component(topology, node.name))
    if len(parts) == 1:
        return True
    order = [node.name for node in topology.nodes]
    texts = [", ".join(name for name in order if name in part) for part in parts]
    (at / "links").add(f"the network falls into {len(parts)} parts", found=" | ".join(texts),
                 allowed="every node is reached from every other")  # fmt: skip
    return False


def custom_keys(topology: Topology, shape: LinkShape) -> Custom:
    """The keys that give the same graph. `shape`: of links that say nothing else."""
    nodes = tuple(CustomNode(node.name, node.part or str(node.role)) for node in topology.nodes)
    links = (CustomLink(difference(link.shape, shape, LinkChanges), (link.a, link.b)) for link in topology.links)
    return Custom(nodes, tuple(links), shape)
