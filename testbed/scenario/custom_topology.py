"""`kind: custom`: a topology node by node and link by link, and all that can be wrong with one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.validate import validate_section
from testbed.scenario.schema import LINK_LIST, NODE_LIST, TWO_ENDS, CableKeys, CustomKeys, LinkOverrideKeys, NodeKeys
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

__all__ = ["dump_custom", "load_custom"]

ChangeShape = Callable[[KeyPath, LinkOverrideKeys], LinkShape | None]
"""the shape of all links with what single keys change; None: no shape, and it is told"""


def load_custom(problems: Problems, path: KeyPath, keys: CustomKeys, change: ChangeShape) -> Topology | None:
    """None when there are problems; they are told, each at its node or link. A host stands first in its link."""
    nodes = _load_nodes(problems, (*path, "nodes"), keys.nodes)
    cables = None if nodes is None else _load_cables(problems, (*path, "links"), keys.links, nodes, change)
    if nodes is None or cables is None or not _check_ends(problems, path, nodes, cables):
        return None
    topology = assemble("custom", nodes.values(), [cable for _, cable in cables])
    return topology if _check_connected(problems, path, topology) else None


def _show_list(value: object) -> str:
    return "an empty list" if value == [] else show(value)


def _load_nodes(problems: Problems, path: KeyPath, value: object) -> dict[str, Node] | None:
    if not isinstance(value, list) or not value:
        problems.add(path, "not a list of nodes", found=_show_list(value), allowed=NODE_LIST)
        return None
    nodes: dict[str, Node] = {}
    good, ranks = True, 0
    for index, entry in enumerate(value):
        keys = validate_section(problems, (*path, index), entry, NodeKeys, "the node")
        if keys is not None and keys.name in nodes:
            first = list(nodes).index(keys.name)
            problems.add((*path, index, "name"), "two nodes have one name", found=f"'{keys.name}', also nodes[{first}]")
            keys = None
        if keys is None:
            good = False
        elif keys.role == "host":
            ranks += 1
            nodes[keys.name] = host(ranks, keys.name)
        else:
            nodes[keys.name] = switch(keys.name, "" if keys.role == "switch" else keys.role)
    switches = len(nodes) - ranks
    if good and not 2 <= ranks <= MAX_RANKS:
        few = "too few hosts" if ranks < 2 else "too many hosts"
        problems.add(path, few, found=str(ranks), allowed=f"2 to {MAX_RANKS}")
        good = False
    if good and not 1 <= switches <= MAX_SWITCHES:
        few = "no switch" if not switches else "too many switches"
        problems.add(path, few, found=str(switches), allowed=f"1 to {MAX_SWITCHES}")
        good = False
    return nodes if good else None


def _load_cables(
    problems: Problems, path: KeyPath, value: object, nodes: dict[str, Node], change: ChangeShape
) -> list[tuple[int, Cable]] | None:
    """With their places in the file."""
    if not isinstance(value, list) or not value:
        problems.add(path, "not a list of links", found=_show_list(value), allowed=LINK_LIST)
        return None
    cables: list[tuple[int, Cable]] = []
    good, taken = True, dict[frozenset[str], int]()
    for index, entry in enumerate(value):
        here = (*path, index)
        keys = validate_section(problems, here, entry, CableKeys, "the link")
        shape = None if keys is None else change(here, keys)
        ends = None if keys is None else _load_ends(problems, (*here, "ends"), keys.ends, nodes)
        if ends is not None and (pair := frozenset(ends)) in taken:
            found = f"{ends[0]} and {ends[1]}, also links[{taken[pair]}]"
            problems.add((*here, "ends"), "duplicate link", found=found, allowed="one link between two nodes")
            ends = None
        if ends is None or shape is None:
            good = False
            continue
        taken[frozenset(ends)] = index
        cables.append((index, Cable(*ends, shape)))
    return cables if good else None


def _load_ends(problems: Problems, path: KeyPath, value: object, nodes: dict[str, Node]) -> tuple[str, str] | None:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(name, str) for name in value):
        problems.add(path, "not two ends", found=show(value), allowed=TWO_ENDS)
        return None
    unknown = [name for name in value if name not in nodes]
    for name in unknown:
        problems.add(path, "no such node", found=show(name), allowed=", ".join(nodes), hint=closest(name, nodes))
    if unknown:
        return None
    a, b = value
    if a == b:
        problems.add(path, "a link from a node to itself", found=show(a), allowed="two nodes")
        return None
    if nodes[a].role is nodes[b].role is Role.HOST:
        problems.add(
            path, "a link between two hosts", found=f"{a} and {b}", allowed="a host and a switch, or two switches"
        )
        return None
    return (b, a) if nodes[b].role is Role.HOST else (a, b)


def _check_ends(problems: Problems, path: KeyPath, nodes: dict[str, Node], cables: list[tuple[int, Cable]]) -> bool:
    """One link for each host, and no more ports than the plan holds at a switch. Told at the first link too many."""
    used, good = Counter[str](), True
    for index, cable in cables:
        for name in (cable.a, cable.b):
            used[name] += 1
            is_host = nodes[name].role is Role.HOST
            if used[name] == (2 if is_host else MAX_PORTS + 1):
                here = (*path, "links", index, "ends")
                if is_host:
                    problems.add(here, "a second link of a host", found=name, allowed="one link, to its switch")
                else:
                    problems.add(here, "a switch has too many ports", found=name, allowed=f"at most {MAX_PORTS}")
                good = False
    return good


def _check_connected(problems: Problems, path: KeyPath, topology: Topology) -> bool:
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
    problems.add((*path, "links"), f"the network falls into {len(parts)} parts", found=" | ".join(texts),
                 allowed="every node is reached from every other")  # fmt: skip
    return False


def dump_custom(topology: Topology) -> dict[str, Any]:
    """`nodes` as a file holds them; `links` by name, without their shapes."""
    return {
        "nodes": [{"name": node.name, "role": node.part or str(node.role)} for node in topology.nodes],
        "links": {link.name: {"ends": [link.a, link.b]} for link in topology.links},
    }
