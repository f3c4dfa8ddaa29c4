"""Shortest paths by number of links; hosts are ends, never on the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from topologies.graph import Role, Topology

__all__ = ["NextHops", "component", "next_hops", "tiers"]

NextHops = Mapping[tuple[str, str], tuple[int, ...]]
"""(switch, host) -> the switch's ports that lead there on a shortest path, ascending. Several: equal-cost multipath."""


def next_hops(topology: Topology) -> NextHops:
    """Of every switch to every host that it can reach."""
    neighbours = _neighbours(topology)
    table: dict[tuple[str, str], tuple[int, ...]] = {}
    ways: dict[tuple[str, ...], dict[str, tuple[int, ...]]] = {}
    for host in topology.hosts:
        # Hosts at the same switches differ in the ports of these alone.
        homes = tuple(neighbours[host.name].values())
        if homes not in ways:
            ways[homes] = _ways(topology, neighbours, homes)
        for switch, ports in ways[homes].items():
            if switch in homes:
                ports = tuple(sorted(port for port, far in neighbours[switch].items() if far == host.name))
            table[switch, host.name] = ports
    return table


def _ways(
    topology: Topology, neighbours: Mapping[str, Mapping[int, str]], goals: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """By switch: its ports that lead to the nearest of `goals`, ascending; none from a goal itself."""
    away = _distances(topology, neighbours, goals)
    return {
        switch.name: tuple(
            sorted(port for port, far in neighbours[switch.name].items() if away.get(far) == away[switch.name] - 1)
        )
        for switch in topology.switches
        if switch.name in away
    }


def tiers(topology: Topology) -> dict[str, int]:
    """Links from each node to its nearest host: hosts 0, leaves 1, spines 2, cores 3. Nodes without any are left
    out."""
    return _distances(topology, _neighbours(topology), [host.name for host in topology.hosts])


def component(topology: Topology, start: str) -> frozenset[str]:
    """All nodes that `start` reaches without crossing a host, itself among them."""
    return frozenset(_distances(topology, _neighbours(topology), [start]))


def _neighbours(topology: Topology) -> dict[str, dict[int, str]]:
    """By node and port."""
    found: dict[str, dict[int, str]] = {node.name: {} for node in topology.nodes}
    for link in topology.links:
        found[link.a][link.a_port] = link.b
        found[link.b][link.b_port] = link.a
    return found


def _distances(
    topology: Topology, neighbours: Mapping[str, Mapping[int, str]], starts: Iterable[str]
) -> dict[str, int]:
    away = dict.fromkeys(starts, 0)
    hosts = {node.name for node in topology.nodes if node.role is Role.HOST}
    waiting = deque(away)
    while waiting:
        here = waiting.popleft()
        if away[here] and here in hosts:
            continue
        for far in neighbours[here].values():
            if far not in away:
                away[far] = away[here] + 1
                waiting.append(far)
    return away
