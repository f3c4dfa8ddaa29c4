"""Large topologies by rack: the hosts of one switch are one row of a page, which opens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from testbed.scenario.model import Scenario
from topologies import Role, Topology

__all__ = ["by_rack", "racks_of"]

_MOST_HOSTS = 32
"""hosts that a page shows one by one"""


def racks_of(scenario: Scenario | None) -> Mapping[str, str]:
    """By host, the switch of its first link. Empty for a topology with few hosts: its rows are not folded."""
    if scenario is None or len(scenario.topology.hosts) <= _MOST_HOSTS:
        return {}
    return {host.name: switch for host in scenario.topology.hosts if (switch := _switch(scenario.topology, host.name))}


def _switch(topology: Topology, host: str) -> str:
    ends = (
        link.b if link.a == host else link.a for _, link, _ in sorted(topology.ports(host), key=lambda each: each[0])
    )
    return next((end for end in ends if topology.node(end).role is not Role.HOST), "")


def by_rack(nodes: Iterable[str], racks: Mapping[str, str]) -> dict[str, list[str]]:
    """The nodes of each rack; without racks all nodes are in one without a name, as are those that are in none."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(racks.get(node, ""), []).append(node)
    return found
