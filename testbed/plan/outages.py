"""Which links and switches are gone when, by the faults of a scenario: what a controller of gradient routes reacts
to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from testbed.faults.model import Fault, Kill, LinkDown, Match
from testbed.scenario.model import Scenario
from topologies import Role, Topology

__all__ = ["Outage", "outages", "remaining"]


@dataclass(frozen=True, slots=True)
class Outage:
    """From `at_ns` on, until the next one."""

    at_ns: int
    links: frozenset[str]
    """links that are down, including the links of dead switches"""
    switches: frozenset[str]


def outages(scenario: Scenario) -> tuple[Outage, ...]:
    """Every change, by time. A link that is down in one direction is down; hosts that die are no concern of routes,
    switches that stand still keep their links."""
    topology = scenario.topology
    switches = {node.name for node in topology.nodes if node.role is Role.SWITCH}
    gone = [span for fault in scenario.faults for span in _spans(fault, switches)]
    times = sorted({time for start, stop, _ in gone for time in (start, stop) if time is not None})
    found = []
    before: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    for time in times:
        names = {name for start, stop, name in gone if start <= time and (stop is None or time < stop)}
        dead = frozenset(names & switches)
        links = frozenset(link.name for link in topology.links if link.name in names or {link.a, link.b} & dead)
        if (links, dead) != before:
            before = links, dead
            found.append(Outage(time, links, dead))
    return tuple(found)


def remaining(topology: Topology, outage: Outage) -> Topology:
    """Without what is gone; ports keep their numbers."""
    nodes = tuple(node for node in topology.nodes if node.name not in outage.switches)
    return replace(topology, nodes=nodes, links=tuple(link for link in topology.links if link.name not in outage.links))


def _spans(fault: Fault, switches: set[str]) -> Iterator[tuple[int, int | None, str]]:
    """(start, stop, link or switch)"""
    if isinstance(fault, LinkDown) and fault.rate == 1 and fault.match == Match():
        start, stop = fault.window.start_ns, fault.window.stop_ns
        for turn in range(fault.count):
            later = turn * fault.period_ns
            for name in fault.links:
                yield start + later, None if stop is None else stop + later, name
    elif isinstance(fault, Kill) and fault.node in switches:
        yield fault.window.start_ns, fault.window.stop_ns, fault.node
