"""A given plan: which nodes aggregate whose gradients, at which rates; along shortest ways."""

from __future__ import annotations

from collections.abc import Mapping

from topologies.routing.gradients.decompose import route_of
from topologies.routing.gradients.network import network_of
from topologies.routing.gradients.plan import Merge, RoutingPlan, Stream
from topologies.routing.gradients.problem import Problem

__all__ = ["assigned_plan"]


def assigned_plan(
    problem: Problem, nodes: Mapping[tuple[str, str], str], rates_bps: Mapping[str, float], name: str = "assigned"
) -> RoutingPlan:
    """`nodes`: by (worker, server), the switch that aggregates, or the server itself; `rates_bps`: by server. Whether
    it holds is for `violations` to say."""
    network = network_of(problem)
    streams, merged = [], dict[tuple[str, str], None]()
    for (worker, server), node in nodes.items():
        path = network.path(network.home[worker], node)
        route = route_of(network, worker, network.home[worker], path, rates_bps[server])
        streams.append(Stream(worker, server, node, (route,)))
        if node != server:
            merged[node, server] = None
    merges = [
        Merge(node, server, (route_of(network, node, node, network.path(node, server), rates_bps[server]),))
        for node, server in merged
    ]
    return RoutingPlan(problem, name, tuple(streams), tuple(merges), float("inf"))
