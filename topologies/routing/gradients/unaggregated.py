"""Planners that aggregate nowhere: every gradient goes to the server itself."""

from __future__ import annotations

from collections.abc import Mapping

from topologies.routing.gradients.filling import Way, fill
from topologies.routing.gradients.linkaware import LinkAware
from topologies.routing.gradients.network import FlowNetwork, Site, network_of
from topologies.routing.gradients.pathwise import relaxed
from topologies.routing.gradients.plan import RoutingPlan
from topologies.routing.gradients.problem import Problem

__all__ = ["plan_geryon", "plan_multipath", "plan_shortest"]

_TIME_LIMIT_S = 10.0


def direct(site: Site, node: str, server: str) -> bool:
    return node == server


def plan_shortest(problem: Problem) -> RoutingPlan:
    """One shortest way each (the workers take equally short ones in turn), rates max-min fair."""
    network = network_of(problem)
    ways = {
        (worker, server): (Way(server, network.path(network.home[worker], server, rank)),)
        for rank, worker in enumerate(problem.workers)
        for server in problem.servers
    }
    return _filled(network, "shortest", ways)


def plan_geryon(problem: Problem) -> RoutingPlan:
    """One way each, chosen together so that the slowest worker is as fast as possible (Geryon-like); then max-min fair.

    Source: what GRID's paper compares itself with (section 3.1): the detour of its example's W4 follows from the
    choice."""
    network = network_of(problem)
    best = LinkAware(network, direct, whole=True, time_limit_s=_TIME_LIMIT_S).solve()
    ways = {}
    for stream in best.streams:
        (route,) = stream.routes
        path = tuple(network.arc_of[link, tail] for tail, link in zip(route.nodes[1:], route.links[1:], strict=False))
        ways[stream.worker, stream.server] = (Way(stream.server, path),)
    return _filled(
        network, "geryon", ways, "" if best.proved else "ways not proved best: the time limit ended the search"
    )


def plan_multipath(problem: Problem) -> RoutingPlan:
    """Every gradient over as many ways as it likes: the most that is possible without aggregation."""
    network = network_of(problem)
    best = relaxed(network, direct)
    return RoutingPlan(problem, "multipath", best.streams, best.merges, best.rate_bps, best.binds)


def _filled(
    network: FlowNetwork, name: str, ways: Mapping[tuple[str, str], tuple[Way, ...]], note: str = ""
) -> RoutingPlan:
    filled = fill(network, ways, {})
    return RoutingPlan(network.problem, name, filled.streams, filled.merges, float("inf"), (), note)
