"""Scenario -> the problem that planners solve -> a plan; what is in the way becomes a ScenarioError."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from testbed.reading.problems import closest
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.names import PLANNERS
from workloads.errors import InternalError, ScenarioError

if TYPE_CHECKING:
    from topologies.routing.gradients import Problem, RoutingPlan

__all__ = ["plan_scenario", "problem_of"]

_KEPT = 16
"""plans"""
_SHOWN = 8


def problem_of(scenario: Scenario, capacities: Mapping[str, float] | float | None = None) -> Problem:
    """`capacities`: instead of the scenario's, for all switches or for those that are named. Raises ScenarioError where
    the scenario has no `routing`, and where its hosts cannot be planned for."""
    from topologies.routing.gradients import Problem

    routing = scenario.routing
    if routing is None:
        raise ScenarioError(
            "nothing says who the parameter servers are",
            file=scenario.source or scenario.name,
            key="routing",
            allowed="a section, as routing: {servers: [ps], capacity: 90Mbps}",
        )
    each = {switch.name: float(routing.capacity_bps) for switch in scenario.topology.switches}
    each |= dict(routing.capacities)
    if isinstance(capacities, Mapping):
        for name in capacities:
            if name not in each:
                raise ScenarioError(
                    "no such switch", file="--switch-capacity", found=f"'{name}'", allowed=", ".join(each),
                    hint=closest(name, each),
                )  # fmt: skip
        each |= capacities
    elif capacities is not None:
        each = dict.fromkeys(each, capacities)
    hosts = routing.workers or tuple(host.name for host in scenario.ranks)
    workers = tuple(name for name in hosts if name not in routing.servers)
    try:
        return Problem.of(scenario.topology, routing.servers, each, workers, float(routing.demand_bps))
    except ValueError as error:
        raise ScenarioError(str(error), file=scenario.source or scenario.name, key="routing") from error


def plan_scenario(
    scenario: Scenario,
    planner: str | None = None,
    capacities: Mapping[str, float] | float | None = None,
    *,
    kept: bool = False,
) -> RoutingPlan:
    """`planner`, `capacities`: instead of the scenario's. Whatever is drawn is drawn from the scenario's seed. `kept`:
    a plan that this process made of the same problem will do.

    Raises ScenarioError: an unknown planner, no routing, no plan (what binds is named). InternalError: a planner's
    result does not hold."""
    from topologies.routing.gradients import Infeasible

    problem = problem_of(scenario, capacities)
    assert scenario.routing is not None
    name = planner or scenario.routing.planner
    if name not in PLANNERS:
        raise ScenarioError(
            "unknown planner", file="--planner", found=f"'{name}'", allowed=", ".join(PLANNERS),
            hint=closest(name, PLANNERS)
        )  # fmt: skip
    try:
        return (_kept if kept else _made)(problem, name, scenario.seed)
    except Infeasible as error:
        raise ScenarioError(
            f"no plan: {error.problem}", file=scenario.source or scenario.name, key="routing", found=_some(error.binds)
        ) from error
    except ArithmeticError as error:
        raise InternalError(str(error)) from error
    except ValueError as error:
        raise ScenarioError(str(error), file=scenario.source or scenario.name, key="routing.planner") from error


def _made(problem: Problem, planner: str, seed: int) -> RoutingPlan:
    """A plan follows from these three."""
    import numpy as np

    from topologies.routing.gradients import make_plan

    return make_plan(problem, planner, np.random.default_rng(seed))


_kept = lru_cache(maxsize=_KEPT)(_made)


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _SHOWN
    return f"binding: {', '.join(names[:_SHOWN])}" + (f" and {more} more" if more > 0 else "")
