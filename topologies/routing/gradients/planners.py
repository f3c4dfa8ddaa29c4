"""Planners by name: each makes a RoutingPlan of a Problem, or says what is in the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topologies.routing.gradients.goat import plan_goat
from topologies.routing.gradients.grid import (
    plan_grid,
    plan_grid_eq1,
    plan_grid_exact,
    plan_grid_lp,
    plan_grid_rounded,
)
from topologies.routing.gradients.inart import plan_inart
from topologies.routing.gradients.linear import NoSolution
from topologies.routing.gradients.nearest_switch import plan_atp, plan_atp_whole, plan_switchml
from topologies.routing.gradients.network import network_of
from topologies.routing.gradients.plan import Merge, RoutingPlan, Stream
from topologies.routing.gradients.problem import Infeasible, Problem
from topologies.routing.gradients.unaggregated import plan_geryon, plan_multipath, plan_shortest
from topologies.routing.gradients.validation import TOLERANCE, violations

__all__ = ["PLANNERS", "Planner", "make_plan"]


@dataclass(frozen=True, slots=True)
class Planner:
    meaning: str
    """one line for people"""
    run: Callable[[Problem, np.random.Generator], RoutingPlan]
    aggregates: bool = True
    several_servers: bool = True


PLANNERS: dict[str, Planner] = {
    "shortest": Planner(
        "one shortest way each, aggregated nowhere", lambda problem, rng: plan_shortest(problem), aggregates=False
    ),
    "geryon": Planner(
        "one way each, chosen together, aggregated nowhere (Geryon-like)",
        lambda problem, rng: plan_geryon(problem),
        aggregates=False,
    ),
    "multipath": Planner(
        "split over all ways, aggregated nowhere: the most that is possible without aggregation",
        lambda problem, rng: plan_multipath(problem),
        aggregates=False,
    ),
    "switchml": Planner("all at the nearest switch (SwitchML-like)", lambda problem, rng: plan_switchml(problem)),
    "atp": Planner(
        "at the nearest switch; what it cannot take is merged at the last switch before the server (ATP-like)",
        lambda problem, rng: plan_atp(problem),
    ),
    "atp-unmerged": Planner(
        "at the nearest switch; what it cannot take reaches the server worker by worker",
        lambda problem, rng: plan_atp(problem, merge_residual=False),
    ),
    "atp-whole": Planner(
        "at the nearest switch or straight to the server, without splits", lambda problem, rng: plan_atp_whole(problem)
    ),
    "grid": Planner(
        "one node and one way each, links in view: exact where small, else rounded and repaired",
        plan_grid,
        several_servers=False,
    ),
    "grid-lp": Planner(
        "split between nodes and ways: the linear program, the bound of all that aggregate once",
        lambda problem, rng: plan_grid_lp(problem),
    ),
    "grid-exact": Planner(
        "one node and one way each: the mixed-integer program", lambda problem, rng: plan_grid_exact(problem)
    ),
    "grid-rounded": Planner(
        "one node and one way each: the linear program, rounded at random and repaired",
        plan_grid_rounded,
        several_servers=False,
    ),
    "grid-eq1": Planner(
        "GRID's Eq. 1, which sees no links, rounded and repaired; then what the links leave of it",
        plan_grid_eq1,
        several_servers=False,
    ),
    "goat": Planner(
        "the gradient in as many parts as switches aggregate, each part at one of them, near its workers (GOAT)",
        plan_goat,
        several_servers=False,
    ),
    "inart": Planner(
        "one node per worker and server; the servers' shares are chosen too (InArt)",
        lambda problem, rng: plan_inart(problem),
    ),
}


def make_plan(problem: Problem, planner: str, rng: np.random.Generator) -> RoutingPlan:
    """A plan that holds (`violations` finds nothing). `rng`: for planners that draw.

    Raises Infeasible with what binds, KeyError for an unknown planner, and ValueError where the planner knows one
    server only. Raises ArithmeticError when a planner's result does not hold, which is an error of this code."""
    chosen = PLANNERS[planner]
    if len(problem.servers) > 1 and not chosen.several_servers:
        raise ValueError(f"planner {planner} knows one server")
    network = network_of(problem)
    if chosen.aggregates and not network.aggregators:
        raise Infeasible("no switch can aggregate anything, all have capacity 0", network.switches)
    _check_demand(problem)
    try:
        plan = chosen.run(problem, rng)
    except NoSolution as error:
        raise ArithmeticError(f"planner {planner}: {error}") from error
    if plan.min_rate_bps < problem.demand_bps * (1 - TOLERANCE):
        text = (
            f"{planner} gives {plan.min_rate_bps:.6g} bit/s to the slowest worker, the demand is "
            f"{problem.demand_bps:.6g}"
        )
        raise Infeasible(text, _full(plan) or plan.binds)
    wrong = violations(plan)
    if wrong:
        raise ArithmeticError(f"planner {planner}: {wrong[0]}")
    return plan


def _full(plan: RoutingPlan) -> tuple[str, ...]:
    """Links and switches without room that the slowest workers' gradients pass."""
    slow = {worker for worker, rate in plan.worker_rates.items() if rate <= plan.min_rate_bps * (1 + TOLERANCE)}
    streams = [stream for stream in plan.streams if stream.worker in slow]
    nodes = {stream.node for stream in streams}
    parts: list[Stream | Merge] = [*streams, *(merge for merge in plan.merges if merge.switch in nodes)]
    passed = {
        (link, tail)
        for part in parts
        for route in part.routes
        for tail, link in zip(route.nodes, route.links, strict=False)
    }
    return tuple(
        load.name
        for load in (*plan.link_loads, *plan.switch_loads)
        if load.load_bps >= load.capacity_bps * (1 - TOLERANCE) and load.capacity_bps > 0
        if ((load.link, load.name.split("->")[0]) in passed if load.link else load.name in nodes)
    )


def _check_demand(problem: Problem) -> None:
    """What no planner can help: every server gets one stream at least, and every worker sends all through its own
    link."""
    network = network_of(problem)
    arcs = [network.arcs[arc] for arc in network.server_arcs.values()]
    most = sum(arc.capacity_bps for arc in arcs)
    if problem.demand_bps > most:
        text = f"a demand of {problem.demand_bps:.6g} bit/s is above the {most:.6g} that the servers' links take"
        raise Infeasible(text, tuple(arc.name for arc in arcs))
    slow = [site for site in network.sites if site.access_bps < problem.demand_bps]
    if slow:
        text = f"a demand of {problem.demand_bps:.6g} bit/s is above a worker's own link ({slow[0].access_bps:.6g})"
        raise Infeasible(text, tuple(f"{worker}->{site.switch}" for site in slow for worker in site.workers))
