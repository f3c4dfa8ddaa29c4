"""A problem's network as arcs: what planners compute with. Worked out once per problem, by `network_of`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from topologies.graph import Link
from topologies.routing.gradients.problem import Infeasible, Problem

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Arc", "FlowNetwork", "Site", "network_of"]


@dataclass(frozen=True, slots=True)
class Arc:
    """One direction of a link between switches, or of a server's link towards it."""

    link: str
    tail: str
    head: str
    capacity_bps: float

    @property
    def name(self) -> str:
        return f"{self.tail}->{self.head}"


@dataclass(frozen=True, slots=True)
class Site:
    """Workers of one switch whose links are equally fast: no planner can distinguish them."""

    switch: str
    access_bps: float
    workers: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FlowNetwork:
    problem: Problem
    arcs: tuple[Arc, ...]
    sites: tuple[Site, ...]
    home: dict[str, str]
    """host -> its switch"""
    access: dict[str, Link]
    """host -> its link"""
    graph: nx.MultiDiGraph
    """switches only; the key of an edge is the index of its arc"""
    server_arcs: dict[str, int]
    """server -> index of the arc that leads to it"""
    arc_of: dict[tuple[str, str], int]
    """(link, node where it is entered) -> index of the arc"""

    @property
    def switches(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.problem.topology.switches)

    @property
    def aggregators(self) -> tuple[str, ...]:
        """Of the problem's those that a server can be reached from: a failure may cut others off."""
        reached = {name for server in self.problem.servers for name in self.distances(self.home[server])}
        return tuple(name for name in self.problem.aggregators if name in reached)

    def distances(self, switch: str) -> dict[str, int]:
        """Links from `switch` to every switch that it reaches."""
        import networkx as nx

        return dict(nx.single_source_shortest_path_length(self.graph, switch))

    def path(self, start: str, end: str, spread: int = 0) -> tuple[int, ...]:
        """Arcs of a shortest path from switch `start` to a switch or server; `spread` chooses among equally short ones
        (of the first 64). Raises Infeasible when there is none."""
        found = self._equal_paths(start, self.home.get(end, end))
        last = (self.server_arcs[end],) if end in self.server_arcs else ()
        return found[spread % len(found)] + last

    def paths(self, start: str, end: str) -> tuple[tuple[int, ...], ...]:
        """All of them, 64 at most."""
        last = (self.server_arcs[end],) if end in self.server_arcs else ()
        return tuple(path + last for path in self._equal_paths(start, self.home.get(end, end)))

    def _equal_paths(self, start: str, end: str) -> tuple[tuple[int, ...], ...]:
        return _equal_paths(self, start, end)

    def _arcs_of(self, nodes: Sequence[str]) -> tuple[int, ...]:
        """Of parallel links the first one that is widest."""
        return tuple(
            max(self.graph[tail][head], key=lambda index: (self.arcs[index].capacity_bps, -index))
            for tail, head in pairwise(nodes)
        )


@lru_cache(maxsize=8)
def network_of(problem: Problem) -> FlowNetwork:
    """Raises Infeasible when a worker cannot reach a server."""
    import networkx as nx

    topology = problem.topology
    switches = [node.name for node in topology.switches]
    known = set(switches)
    hosts = {*problem.workers, *problem.servers}
    home: dict[str, str] = {}
    access: dict[str, Link] = {}
    for link in topology.links:
        for host, other in ((link.a, link.b), (link.b, link.a)):
            if host in hosts:
                if other not in known:
                    raise ValueError(f"host {host} hangs on {other}, which is no switch")
                home[host], access[host] = other, link
    arcs = [
        Arc(link.name, tail, head, float(link.shape.rate_bps))
        for link in topology.links
        for tail, head in ((link.a, link.b), (link.b, link.a))
        if tail in known and head in known
    ]
    server_arcs = {}
    for server in problem.servers:
        server_arcs[server] = len(arcs)
        arcs.append(Arc(access[server].name, home[server], server, float(access[server].shape.rate_bps)))
    graph: nx.MultiDiGraph = nx.MultiDiGraph()
    graph.add_nodes_from(switches)
    for index, arc in enumerate(arcs):
        if arc.head in known:
            graph.add_edge(arc.tail, arc.head, key=index)
    index_of = {(arc.link, arc.tail): index for index, arc in enumerate(arcs)}
    sites = tuple(_sites(problem, home, access))
    network = FlowNetwork(problem, tuple(arcs), sites, home, access, graph, server_arcs, index_of)
    for site in network.sites:
        reached = network.distances(site.switch)
        for server in problem.servers:
            if home[server] not in reached:
                text = f"{site.workers[0]} cannot reach {server}: no way leads from {site.switch} to {home[server]}"
                raise Infeasible(text, (server,))
    return network


def _sites(problem: Problem, home: dict[str, str], access: dict[str, Link]) -> Iterator[Site]:
    groups: dict[tuple[str, int], list[str]] = {}
    for worker in problem.workers:
        groups.setdefault((home[worker], access[worker].shape.rate_bps), []).append(worker)
    for (switch, rate), workers in groups.items():
        yield Site(switch, float(rate), tuple(workers))


@lru_cache(maxsize=1 << 14)
def _equal_paths(network: FlowNetwork, start: str, end: str) -> tuple[tuple[int, ...], ...]:
    import networkx as nx

    if start == end:
        return ((),)
    try:
        paths = islice(nx.all_shortest_paths(network.graph, start, end), 64)
        return tuple(sorted(network._arcs_of(path) for path in paths))
    except nx.NetworkXNoPath:
        raise Infeasible(f"no way leads from {start} to {end}", (end,)) from None
