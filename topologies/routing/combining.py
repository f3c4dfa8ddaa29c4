"""Trees along which switches combine what several hosts send to one, or copy what one sends to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from topologies.graph import Topology
from topologies.routing.shortest import NextHops, next_hops

__all__ = ["Junction", "combining_trees"]

_MOST_TREES = 64


@dataclass(frozen=True, slots=True)
class Junction:
    """A switch of such a tree."""

    up: int
    """port towards the root"""
    above: str
    """node at that port: a switch of the tree, or the root"""
    below: Mapping[int, tuple[int, ...]]
    """places, in the list of hosts, of the hosts behind each port, ascending"""


def combining_trees(topology: Topology, root: str, hosts: Sequence[str]) -> tuple[Mapping[str, Junction], ...]:
    """By switch, of shortest paths from the hosts to the host `root`; different trees, 64 at most, which take equal
    paths in turn. In each of them, paths meet as early as they can: a path with a choice goes where others go already.
    """
    graph = _Graph(topology, root)
    first = [graph.first(host) for host in hosts]
    found: list[Mapping[str, int]] = []
    for ups in _chosen(graph, [switch for switch, _ in first]):
        if ups not in found:
            found.append(ups)
        if len(found) == _MOST_TREES:
            break
    return tuple(_junctions(graph, ups, first) for ups in found)


class _Graph:
    """What is asked of a topology here."""

    def __init__(self, topology: Topology, root: str) -> None:
        self.root = root
        self._ways: NextHops = next_hops(topology)
        self._ends: dict[tuple[str, int], tuple[str, int]] = {}
        self._first: dict[str, tuple[str, int]] = {}
        for link in topology.links:
            one, other = (link.a, link.a_port), (link.b, link.b_port)
            self._ends |= {one: other, other: one}
            self._first.setdefault(link.a, other)
            self._first.setdefault(link.b, one)

    def first(self, host: str) -> tuple[str, int]:
        """The switch that a host is at, and the port there."""
        return self._first[host]

    def across(self, node: str, port: int) -> tuple[str, int]:
        """(node, port) at the other end of the link at that port."""
        return self._ends[node, port]

    def ups(self, switch: str) -> tuple[int, ...]:
        """Ports on shortest paths to the root, ascending."""
        return self._ways[switch, self.root]

    def away(self, switch: str) -> int:
        """Links to the root."""
        links = 0
        while switch != self.root:
            switch, _ = self.across(switch, self.ups(switch)[0])
            links += 1
        return links


def _chosen(graph: _Graph, starts: Collection[str]) -> Iterator[Mapping[str, int]]:
    """Port towards the root, by switch, of tree after tree, some of them alike. A tree's number has a digit for each
    tier, the farthest first, which says which of several equal ports is taken there."""
    tiers: dict[int, set[str]] = {}
    for switch in starts:
        tiers.setdefault(graph.away(switch), set()).add(switch)
    reached = {away: set(tier) for away, tier in tiers.items()}
    for away in range(max(tiers), 1, -1):
        above = {graph.across(switch, port)[0] for switch in reached[away] for port in graph.ups(switch)}
        reached.setdefault(away - 1, set()).update(above)
    widths = {away: max(len(graph.ups(switch)) for switch in reached[away]) for away in sorted(reached, reverse=True)}
    for number in range(prod(widths.values())):
        yield _tree(graph, tiers, widths, number)


def _tree(
    graph: _Graph, tiers: Mapping[int, Collection[str]], widths: Mapping[int, int], number: int
) -> Mapping[str, int]:
    taken: dict[str, int] = {}
    needed = {away: set(tier) for away, tier in tiers.items()}
    for away, width in widths.items():
        number, digit = divmod(number, width)
        above = needed.setdefault(away - 1, set())
        # Who has no choice goes first, so that the others can follow.
        for switch in sorted(needed[away], key=lambda each: (len(graph.ups(each)), each)):
            ports = graph.ups(switch)
            shared = [port for port in ports if graph.across(switch, port)[0] in above] or ports
            taken[switch] = shared[digit % len(shared)]
            above.add(graph.across(switch, taken[switch])[0])
    return taken


def _junctions(graph: _Graph, ups: Mapping[str, int], first: Sequence[tuple[str, int]]) -> Mapping[str, Junction]:
    below: dict[str, dict[int, list[int]]] = {}
    for place, (node, came) in enumerate(first):
        while node != graph.root:
            below.setdefault(node, {}).setdefault(came, []).append(place)
            node, came = graph.across(node, ups[node])
    return {
        switch: Junction(
            ups[switch], graph.across(switch, ups[switch])[0], {port: tuple(behind[port]) for port in sorted(behind)}
        )
        for switch, behind in below.items()
    }
