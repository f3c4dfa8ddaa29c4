"""Who plans a collective, by its name: the one place of the plan that knows which there are.

A planner takes the scenario and returns the `Plan`, without background traffic: workers, switches, and what else its
protocol needs. For datagram protocols `testbed.plan.jobs` has what they share: the jobs of the scenario with hosts and workloads
(`plan_jobs`), and the members of a job as a switch knows them (`job_members`). `testbed.plan.switchml` shows how little is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from testbed.plan.atp import plan_atp
from testbed.plan.grid import plan_grid
from testbed.plan.hierarchical import PHASED, plan_phased
from testbed.plan.model import Plan
from testbed.plan.ring import plan_ring
from testbed.plan.switchml import plan_switchml
from testbed.scenario.model import Scenario
from workloads.errors import InternalError

__all__ = ["Planner", "planner_of", "register_planner"]

Planner: TypeAlias = Callable[[Scenario], Plan]

_PLANNERS: dict[str, Planner] = {
    "netreduce": plan_ring,
    "ring": plan_ring,
    "shift": plan_ring,
    **dict.fromkeys(PHASED, plan_phased),
    "switchml": plan_switchml,
    "atp": plan_atp,
    "esa": plan_atp,
    "grid": plan_grid,
}


def register_planner(collective: str, planner: Planner) -> None:
    """Scenarios with this `job.collective` are planned by `planner`. Raises ValueError when the name is taken."""
    if collective in _PLANNERS:
        raise ValueError(f"collective {collective!r} has a planner already")
    _PLANNERS[collective] = planner


def planner_of(collective: str) -> Planner:
    planner = _PLANNERS.get(collective)
    if planner is None:
        raise InternalError(f"nobody plans collective {collective!r}")
    return planner
