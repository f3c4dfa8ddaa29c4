"""Planners that aggregate at the switch that is nearest to each worker, and know nothing of loads."""

from __future__ import annotations

from collections.abc import Iterator

from topologies.routing.gradients.filling import Way, fill
from topologies.routing.gradients.linkaware import LinkAware
from topologies.routing.gradients.network import FlowNetwork, Site, network_of
from topologies.routing.gradients.plan import RoutingPlan
from topologies.routing.gradients.problem import Problem

__all__ = ["nearest_aggregator", "plan_atp", "plan_atp_whole", "plan_switchml"]


_TIME_LIMIT_S = 10.0


def nearest_aggregator(network: FlowNetwork, switch: str, server: str) -> str | None:
    """By links from `switch`, then by links to the server, then by the order of the topology; None: it reaches none."""
    away, home = network.distances(switch), network.home[server]
    near = [name for name in network.aggregators if name in away]
    return min(near, key=lambda name: (away[name], network.distances(name)[home]), default=None)


def plan_switchml(problem: Problem) -> RoutingPlan:
    """All that a worker sends is aggregated at its nearest switch, and nothing goes around it (SwitchML-like). A worker
    that reaches no such switch sends to the server."""
    network = network_of(problem)
    return _filled(network, "switchml", {
        (worker, server): _to_nearest(network, worker, server) or (_direct(network, rank, worker, server),)
        for rank, worker in enumerate(problem.workers)
        for server in problem.servers
    })  # fmt: skip


def plan_atp(problem: Problem, *, merge_residual: bool = True) -> RoutingPlan:
    """What the nearest switch cannot take goes on along a shortest way to the server (ATP-like).

    `merge_residual`: the last switch of that way that can aggregate takes it. ATP's switch next to the server does so,
    and so does the load table of GRID's example. Without it, the server gets it worker by worker."""
    network = network_of(problem)
    ways = {}
    for rank, worker in enumerate(problem.workers):
        for server in problem.servers:
            near, direct = _to_nearest(network, worker, server), _direct(network, rank, worker, server)
            found = dict.fromkeys((*near, *(_on_the_way(network, direct) if merge_residual else ()), direct))
            ways[worker, server] = tuple({way.node: way for way in reversed(found)}.values())[::-1]
    return _filled(network, "atp" if merge_residual else "atp-unmerged", ways)


def plan_atp_whole(problem: Problem) -> RoutingPlan:
    """As ATP, but without splitting: workers whose switch is full send all to the server, along ways that are chosen
    well. All servers get equal shares (how InArt's paper draws ATP)."""
    network = network_of(problem)

    def allowed(site: Site, node: str, server: str) -> bool:
        return node in (server, nearest_aggregator(network, site.switch, server))

    best = LinkAware(network, allowed, whole=True, time_limit_s=_TIME_LIMIT_S).solve()
    return RoutingPlan(problem, "atp-whole", best.streams, best.merges, float("inf"))


def _to_nearest(network: FlowNetwork, worker: str, server: str) -> tuple[Way, ...]:
    home = network.home[worker]
    node = nearest_aggregator(network, home, server)
    return () if node is None else (Way(node, network.path(home, node)),)


def _direct(network: FlowNetwork, rank: int, worker: str, server: str) -> Way:
    return Way(server, network.path(network.home[worker], server, rank))


def _on_the_way(network: FlowNetwork, direct: Way) -> Iterator[Way]:
    """The last switch of the way that can aggregate."""
    heads = [network.arcs[arc].head for arc in direct.path]
    for place in reversed(range(len(heads))):
        if heads[place] in network.aggregators:
            yield Way(heads[place], direct.path[: place + 1])
            return


def _filled(network: FlowNetwork, name: str, ways: dict[tuple[str, str], tuple[Way, ...]]) -> RoutingPlan:
    keys = {(way.node, server) for (_, server), chosen in ways.items() for way in chosen if way.node != server}
    out = {(switch, server): network.path(switch, server) for switch, server in keys}
    filled = fill(network, ways, out)
    return RoutingPlan(network.problem, name, filled.streams, filled.merges, float("inf"))
