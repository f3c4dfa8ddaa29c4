"""A planner that always takes the first shortest way."""

from topologies.routing.gradients.filling import Way, fill
from topologies.routing.gradients.network import network_of
from topologies.routing.gradients.plan import RoutingPlan
from topologies.routing.gradients.problem import Problem

__all__ = ["plan_first"]


def plan_first(problem: Problem) -> RoutingPlan:
    network = network_of(problem)
    ways = {
        (worker, server): (Way(server, network.path(network.home[worker], server, 0)),)
        for worker in problem.workers
        for server in problem.servers
    }
    filled = fill(network, ways, {})
    return RoutingPlan(problem, "first", filled.streams, filled.merges, float("inf"), (), "")
