"""InArt: several servers share the model. Each worker chooses, server by server, which node aggregates its gradients.

Source: InArt (WWW 2024), figure 1. A worker's rate is the sum over the servers, and the servers' shares may differ."""

from __future__ import annotations

from dataclasses import replace

from topologies.routing.gradients.linear import NoSolution
from topologies.routing.gradients.linkaware import LinkAware, Optimum
from topologies.routing.gradients.network import FlowNetwork, Site, network_of
from topologies.routing.gradients.pathwise import relaxed
from topologies.routing.gradients.plan import RoutingPlan
from topologies.routing.gradients.problem import Problem

__all__ = ["plan_inart"]

_EXACT_CHOICES = 200
"""workers x servers x nodes up to which each worker's choice is exact"""
_TIME_LIMIT_S = 10.0


def plan_inart(problem: Problem) -> RoutingPlan:
    """One node per worker and server, exact where the problem is small; ways may be split. Larger ones: each worker
    keeps the node with its largest share in the linear program, and the shares are planned again around these."""
    network = network_of(problem)
    relaxation = relaxed(network)
    alone = replace_sites(network)
    nodes = len(network.aggregators) + 1
    if len(problem.workers) * len(problem.servers) * nodes <= _EXACT_CHOICES:
        try:
            best = LinkAware(alone, one_node=True, time_limit_s=_TIME_LIMIT_S).solve()
            note = "exact" if best.proved else "not proved best: the time limit ended the search"
            return _plan(problem, best, relaxation, note)
        except NoSolution:
            pass  # no plan within the time limit: round below
    largest = {
        (stream.worker, stream.server): stream.node
        for stream in sorted(relaxation.streams, key=lambda stream: stream.rate_bps)
    }

    def chosen(site: Site, node: str, server: str) -> bool:
        return largest[site.workers[0], server] == node

    return _plan(problem, LinkAware(alone, chosen).solve(), relaxation, "rounded to the largest shares")


def replace_sites(network: FlowNetwork) -> FlowNetwork:
    """The same network, each worker a site of its own."""
    sites = tuple(replace(site, workers=(worker,)) for site in network.sites for worker in site.workers)
    return replace(network, sites=sites)


def _plan(problem: Problem, best: Optimum, relaxation: Optimum, note: str) -> RoutingPlan:
    return RoutingPlan(problem, "inart", best.streams, best.merges, relaxation.rate_bps, relaxation.binds, note)
