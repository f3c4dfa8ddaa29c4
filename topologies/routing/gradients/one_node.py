"""One node per worker: what the server's link and the switches' capacities alone allow, links between switches left
aside.

Each open switch sends one stream to the server, as fast as its workers; so does each worker that is summed nowhere."""

from __future__ import annotations

from topologies.routing.gradients.network import FlowNetwork

__all__ = ["most_whole_bps", "worthwhile"]

_TRIED = 3
"""numbers of switches around the best one"""


def most_whole_bps(network: FlowNetwork) -> float:
    """No plan with one node per worker has a higher smallest rate. One server."""
    workers, capacities = len(network.problem.workers), _largest(network)
    sums = [0.0]
    for _, capacity in capacities:
        sums.append(sums[-1] + capacity)
    server, access = _links(network)
    best = 0.0
    for direct in range(workers + 1):
        for opened, total in enumerate(sums):
            if direct + opened and (opened or direct == workers):
                rest = total / (workers - direct) if workers > direct else float("inf")
                best = max(best, min(access, server / (direct + opened), rest))
    return best


def worthwhile(network: FlowNetwork) -> tuple[tuple[str, ...], ...]:
    """Sets of the largest switches, of about as many as suit the server's link best; in the order of their promise. One
    server."""
    workers, capacities = len(network.problem.workers), _largest(network)
    server, access = _links(network)
    promised = []
    for opened in range(1, len(capacities) + 1):
        total = sum(capacity for _, capacity in capacities[:opened])
        promised.append((min(access, server / opened, total / workers), -opened))
    chosen = sorted(promised, reverse=True)[:_TRIED]
    return tuple(tuple(name for name, _ in capacities[:-opened]) for _, opened in chosen)


def _largest(network: FlowNetwork) -> list[tuple[str, float]]:
    found = [(name, network.problem.capacity_bps(name)) for name in network.aggregators]
    return sorted(found, key=lambda item: -item[1])


def _links(network: FlowNetwork) -> tuple[float, float]:
    """(of the server, of the slowest worker)"""
    (last,) = network.server_arcs.values()
    return network.arcs[last].capacity_bps, min(site.access_bps for site in network.sites)
