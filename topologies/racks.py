"""Racks under spines: which switch has which hosts, for what needs two tiers and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from topologies.graph import Node, Role, Topology

__all__ = ["LeafRack", "Racks", "racks_of"]


@dataclass(frozen=True, slots=True)
class LeafRack:
    leaf: Node
    hosts: tuple[Node, ...]
    """hosts in rank order"""
    host_ports: tuple[int, ...]
    """ports of the leaf, by host"""
    uplinks: tuple[int, ...]
    """ports of the leaf, by spine"""
    spine_ports: tuple[int, ...]
    """ports of the spines that lead to this leaf, by spine"""


@dataclass(frozen=True, slots=True)
class Racks:
    racks: tuple[LeafRack, ...]
    """racks in rank order, at least two"""
    spines: tuple[Node, ...]


def racks_of(topology: Topology, ranks: Sequence[Node]) -> Racks:
    """Raises ValueError, with the reason, for other shapes than leaves with hosts, each linked to every spine. Also for
    `ranks`, hosts in rank order, that are not contiguous per leaf. Other hosts do not matter."""
    roles = {node.name: node.role for node in topology.nodes}
    homes: dict[str, str] = {}
    for host in ranks:
        (_, link, _), *more = topology.ports(host.name)
        if more:
            raise ValueError(f"host {host.name} has several links")
        homes[host.name] = link.b if link.a == host.name else link.a
    order = [homes[host.name] for host in ranks]
    firsts = [leaf for before, leaf in pairwise(["", *order]) if leaf != before]
    for leaf in firsts:
        if roles[leaf] is not Role.SWITCH:
            raise ValueError(f"host {leaf} stands in for a switch")
        if firsts.count(leaf) > 1:
            raise ValueError(f"the ranks of {leaf}'s hosts are not contiguous")
    if len(firsts) < 2:
        raise ValueError("all hosts are on one leaf")
    spines = tuple(node for node in topology.switches if node.name not in firsts and _without_hosts(topology, node))
    if not spines:
        raise ValueError("no switch is free of hosts, to be a spine")
    for spine in spines:
        beside = {neighbour for _, neighbour in _neighbours(topology, spine.name)} - set(firsts)
        if beside:
            raise ValueError(f"{spine.name} has no hosts and is linked to {min(beside)}, which has none either")
    return Racks(
        tuple(
            _rack(topology, leaf, tuple(host for host in ranks if homes[host.name] == leaf), spines) for leaf in firsts
        ),
        spines,
    )


def _rack(topology: Topology, leaf: str, hosts: tuple[Node, ...], spines: tuple[Node, ...]) -> LeafRack:
    ports: dict[str, int] = {}
    for port, neighbour in _neighbours(topology, leaf):
        ports.setdefault(neighbour, port)
    for spine in spines:
        if spine.name not in ports:
            raise ValueError(f"{leaf} is not linked to {spine.name}")
    return LeafRack(
        topology.node(leaf),
        hosts,
        tuple(ports[host.name] for host in hosts),
        tuple(ports[spine.name] for spine in spines),
        tuple(_port_between(topology, spine.name, leaf) for spine in spines),
    )


def _without_hosts(topology: Topology, switch: Node) -> bool:
    return all(topology.node(other).role is not Role.HOST for _, other in _neighbours(topology, switch.name))


def _port_between(topology: Topology, node: str, neighbour: str) -> int:
    return next(port for port, other in _neighbours(topology, node) if other == neighbour)


def _neighbours(topology: Topology, node: str) -> list[tuple[int, str]]:
    """(port, node behind it)"""
    return [(port, link.b if link.a == node else link.a) for port, link, _ in topology.ports(node)]
