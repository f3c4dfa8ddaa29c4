"""Which schedules must end well, whatever their transport: `survival` has the argument for RC, `survival_datagrams` the one for
protocols whose workers send again for ever, `survival_grid` the one where they follow a plan."""

from __future__ import annotations

from testbed.hunt import survival, survival_datagrams, survival_grid
from testbed.hunt.protocols import GRID, protocol_of
from testbed.plan import Plan
from testbed.scenario.model import Scenario

__all__ = ["excused", "may_fail", "unsurvivable"]


def may_fail(scenario: Scenario) -> str | None:
    """Why a failure that is told (never a wrong sum) is all right here; None: everything must complete."""
    if protocol_of(scenario) is None:
        return survival.may_fail(scenario)
    if scenario.job.collective == GRID:
        return survival_grid.may_fail(scenario)
    return survival_datagrams.may_fail(scenario)


def unsurvivable(scenario: Scenario) -> str | None:
    """Why the argument does not hold for a scenario; None: it does."""
    if protocol_of(scenario) is None:
        return survival.unsurvivable(scenario)
    if scenario.job.collective == GRID:
        return survival_grid.unsurvivable(scenario)
    return survival_datagrams.unsurvivable(scenario)


def excused(plan: Plan) -> frozenset[str]:
    """Workers that need not finish, where a failure is all right."""
    if protocol_of(plan.scenario) is None:
        return frozenset(worker.name for worker in plan.workers)
    if plan.scenario.job.collective == GRID:
        return survival_grid.excused(plan)
    return survival_datagrams.excused(plan)
