"""GRID: gradient routes that know where the aggregation happens, planned with links and switches in view."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from topologies.routing.gradients.choices import Floats, blind_choices, link_choices
from topologies.routing.gradients.eq1 import solve_eq1
from topologies.routing.gradients.filling import Way, fill
from topologies.routing.gradients.linkaware import LinkAware, Optimum
from topologies.routing.gradients.network import FlowNetwork, Site, network_of
from topologies.routing.gradients.one_node import most_whole_bps, worthwhile
from topologies.routing.gradients.pathwise import relaxed
from topologies.routing.gradients.plan import RoutingPlan, Stream
from topologies.routing.gradients.problem import Problem
from topologies.routing.gradients.rounding import RateRounding

__all__ = [
    "eq1_rounding",
    "link_rounding",
    "plan_grid",
    "plan_grid_eq1",
    "plan_grid_exact",
    "plan_grid_lp",
    "plan_grid_rounded",
]

DRAWS = 64
_WORKER_DRAWS = 100
"""draws times workers, where repairing one draw takes seconds"""
_ROUNDS = 5
"""rounds of ways that join where only few switches may aggregate: the last ones gain next to nothing, and the bound is
not theirs"""
_MOST_CELLS = 2_000_000
"""options x links up to which all switches are rounded, not only few of them"""
_EXACT_CHOICES = 120
"""sites x nodes up to which the exact program is tried first"""
_TIME_LIMIT_S = 10.0
_CANDIDATES = 2
"""ways per site and node in addition to those of the relaxation"""


def plan_grid(problem: Problem, rng: np.random.Generator) -> RoutingPlan:
    """One node and one way per worker: exact where the problem is small, else by rounding and repair."""
    network = network_of(problem)
    if len(network.sites) * (len(network.aggregators) + 1) <= _EXACT_CHOICES:
        return plan_grid_exact(problem, "grid")
    return plan_grid_rounded(problem, rng, "grid")


def plan_grid_lp(problem: Problem) -> RoutingPlan:
    """Gradients may be split between nodes and ways: the bound of all that aggregate each gradient at most once."""
    best = relaxed(network_of(problem))
    return RoutingPlan(problem, "grid-lp", best.streams, best.merges, best.rate_bps, best.binds)


def plan_grid_exact(problem: Problem, name: str = "grid-exact") -> RoutingPlan:
    """One node and one way per worker, the fastest of all such plans (a mixed-integer program). Each aim takes ten
    seconds at most, and the note says when that was not enough."""
    network = network_of(problem)
    bound, binds = LinkAware(network).bound_bps()
    best = LinkAware(network, whole=True, time_limit_s=_TIME_LIMIT_S).solve()
    note = "exact" if best.proved else "not proved best: the time limit ended the search"
    return RoutingPlan(problem, name, best.streams, best.merges, bound, binds, note)


def plan_grid_rounded(
    problem: Problem, rng: np.random.Generator, name: str = "grid-rounded", draws: int = DRAWS
) -> RoutingPlan:
    """The best of some roundings of the linear program, each repaired; then rates max-min fair on these ways.

    In large networks the program is also rounded with few switches. Where gradients may be split, it opens as many as
    there are, each for a sliver. A repair would have to close nearly all of them, one after the other. Where very many
    can aggregate, that is not even tried."""
    network = network_of(problem)
    best_of_all = relaxed(network)
    cells = _CANDIDATES * len(network.sites) * (len(network.aggregators) + 1) * len(network.arcs)
    parts = [] if cells > _MOST_CELLS else [link_rounding(network, best_of_all, rng)]
    if not parts or parts[0][0].large:
        draws = min(draws, max(1, _WORKER_DRAWS // len(problem.workers)))
        parts += [_few(network, nodes, rng) for nodes in worthwhile(network)]
    found = [(rounding.best(draws), rounding.choices, out) for rounding, out in parts]
    best, choices, out = max(found, key=lambda item: item[0].rate_bps)
    ways = {
        (worker, problem.servers[0]): (choices.ways[option],)
        for worker, option in zip(problem.workers, best.assignment, strict=True)
    }
    note = (
        f"{draws} rounding{'s' * (draws > 1)} repaired, best {best.rate_bps / best_of_all.rate_bps:.1%} of the linear "
        "program"
    )
    if len(parts) != 1:
        note += f", {best.rate_bps / most_whole_bps(network):.1%} of what one node each could reach"
    return _filled(network, name, ways, out, best_of_all.rate_bps, best_of_all.binds, note)


def _few(
    network: FlowNetwork, nodes: tuple[str, ...], rng: np.random.Generator
) -> tuple[RateRounding, dict[str, tuple[int, ...]]]:
    def allowed(site: Site, node: str, server: str) -> bool:
        return node == server or node in nodes

    return link_rounding(network, relaxed(network, allowed, _ROUNDS), rng, nodes)


def link_rounding(
    network: FlowNetwork, best: Optimum, rng: np.random.Generator, nodes: tuple[str, ...] | None = None
) -> tuple[RateRounding, dict[str, tuple[int, ...]]]:
    """(rounding, arcs from each aggregator to the server). Options: the ways of the relaxation, and short ones to every
    node. `nodes`: the few switches that may aggregate, between which sites are divided evenly; by default all that can.
    Raises ValueError for several servers."""
    problem = network.problem
    if len(problem.servers) != 1:
        raise ValueError("rounding knows one server")
    (server,) = problem.servers
    few, nodes = nodes is not None, network.aggregators if nodes is None else nodes
    out = {name: network.path(name, server) for name in nodes}
    for merge in best.merges:
        widest = max(merge.routes, key=lambda route: route.rate_bps)
        out[merge.switch] = _arcs(network, widest.nodes, widest.links)
    shares: dict[str, dict[Way, float]] = {worker: {} for worker in problem.workers}
    for stream in best.streams:
        for way, rate in _ways(network, stream):
            shares[stream.worker][way] = shares[stream.worker].get(way, 0.0) + rate
    options: list[list[Way]] = []
    for number, site in enumerate(network.sites):
        found = dict.fromkeys(way for worker in site.workers for way in shares[worker])
        for node in (*nodes, server):
            for spread in range(_CANDIDATES):
                found.setdefault(Way(node, network.path(site.switch, node, number + spread)))
        options.append(list(found))
    choices = link_choices(network, options, out)
    each = [
        np.array([shares[worker].get(way, 0.0) for way in options[choices.site_of[rank]]])
        for rank, worker in enumerate(problem.workers)
    ]
    return RateRounding(choices, each, best.rate_bps, rng, even=few), out


def plan_grid_eq1(problem: Problem, rng: np.random.Generator) -> RoutingPlan:
    """R-GRIA as in the paper: Eq. 1, which sees no links, rounded and repaired; shortest ways; then what the links
    leave."""
    network = network_of(problem)
    (server,) = problem.servers
    rounding = eq1_rounding(problem, rng)
    best = rounding.best(DRAWS)
    ways = {}
    for rank, (worker, option) in enumerate(zip(problem.workers, best.assignment, strict=True)):
        node = rounding.choices.ways[option].node
        ways[worker, server] = (Way(node, network.path(network.home[worker], node, rank)),)
    note = f"Eq. 1 hopes for {best.rate_bps:.6g} bit/s on links without limits"
    out = {name: network.path(name, server) for name in network.aggregators}
    return _filled(network, "grid-eq1", ways, out, float("inf"), (), note)


def eq1_rounding(problem: Problem, rng: np.random.Generator, most_bps: float | None = None) -> RateRounding:
    """`most_bps`: T; by default the rate of the workers' fastest link."""
    network = network_of(problem)
    top = max(site.access_bps for site in network.sites) if most_bps is None else most_bps
    relaxed = solve_eq1(problem, top)
    shares: list[Floats] = list(relaxed.sends_bps)
    return RateRounding(blind_choices(network, top), shares, relaxed.rate_bps, rng)


def _filled(
    network: FlowNetwork,
    name: str,
    ways: Mapping[tuple[str, str], tuple[Way, ...]],
    out: dict[str, tuple[int, ...]],
    bound: float,
    binds: tuple[str, ...],
    note: str,
) -> RoutingPlan:
    (server,) = network.problem.servers
    filled = fill(network, ways, {(switch, server): path for switch, path in out.items()})
    return RoutingPlan(network.problem, name, filled.streams, filled.merges, bound, binds, note)


def _ways(network: FlowNetwork, stream: Stream) -> list[tuple[Way, float]]:
    return [
        (Way(stream.node, _arcs(network, route.nodes[1:], route.links[1:])), route.rate_bps) for route in stream.routes
    ]


def _arcs(network: FlowNetwork, nodes: tuple[str, ...], links: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(network.arc_of[link, tail] for tail, link in zip(nodes, links, strict=False))
