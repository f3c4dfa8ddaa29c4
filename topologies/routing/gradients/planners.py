"""Planners by name: each makes a Plan of a Problem, or says what is in the way."""

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
from topologies.routing.gradients.nearest import plan_atp, plan_atp_whole, plan_switchml
from topologies.routing.gradients.network import network_of
from topologies.routing.gradients.plain import plan_geryon, plan_multipath, plan_shortest
from topologies.routing.gradients.plan import Merge, Plan, Stream
from topologies.routing.gradients.problem import Infeasible, Problem
from topologies.routing.gradients.validation import TOLERANCE, violations

__all__ = ["PLANNERS", "Planner", "make_plan"]


@dataclass(frozen=True, slots=True)
class Planner:
    run: Callable[[Problem, np.random.Generator], Plan]
    aggregates: bool = True
    several_servers: bool = True


PLANNERS: dict[str, Planner] = {
    "shortest": Planner(lambda problem, rng: plan_shortest(problem), aggregates=False),
    "geryon": Planner(lambda problem, rng: plan_geryon(problem), aggregates=False),
    "multipath": Planner(lambda problem, rng: plan_multipath(problem), aggregates=False),
    "switchml": Planner(lambda problem, rng: plan_switchml(problem)),
    "atp": Planner(lambda problem, rng: plan_atp(problem)),
    "atp-unmerged": Planner(lambda problem, rng: plan_atp(problem, merge_residual=False)),
    "atp-whole": Planner(lambda problem, rng: plan_atp_whole(problem)),
    "grid": Planner(plan_grid, several_servers=False),
    "grid-lp": Planner(lambda problem, rng: plan_grid_lp(problem)),
    "grid-exact": Planner(lambda problem, rng: plan_grid_exact(problem)),
    "grid-rounded": Planner(plan_grid_rounded, several_servers=False),
    "grid-eq1": Planner(plan_grid_eq1, several_servers=False),
    "goat": Planner(plan_goat, several_servers=False),
    "inart": Planner(lambda problem, rng: plan_inart(problem)),
}


def make_plan(problem: Problem, planner: str, rng: np.random.Generator) -> Plan:
    """A plan that holds (`violations` finds nothing). `rng`: for planners that draw.

    Raises Infeasible with what binds, KeyError for an unknown planner, ValueError where the planner knows one server only, and
    ArithmeticError when a planner's result does not hold, which is a fault of ours."""
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
        text = f"{planner} gives {plan.min_rate_bps:.6g} bit/s to the slowest worker, the demand is {problem.demand_bps:.6g}"
        raise Infeasible(text, _full(plan) or plan.binds)
    wrong = violations(plan)
    if wrong:
        raise ArithmeticError(f"planner {planner}: {wrong[0]}")
    return plan


def _full(plan: Plan) -> tuple[str, ...]:
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
    """What no planner can help: every server gets one stream at least, and every worker sends all through its own link."""
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
