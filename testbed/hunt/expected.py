"""How a schedule may end, by the protocol. `survival` has the argument for RC connections. `survival_datagrams` has the
one for protocols whose workers send again for ever, and `survival_grid` the one where they follow a plan."""

from __future__ import annotations

from testbed.hunt.protocols import hunted_in
from testbed.hunt.schedule import Survival
from testbed.hunt.survival import SURVIVAL
from testbed.plan import Plan
from testbed.scenario.model import Scenario

__all__ = ["excused", "may_fail", "unsurvivable"]


def _survival(scenario: Scenario) -> Survival:
    hunted = hunted_in(scenario)
    return SURVIVAL if hunted is None else hunted.hunt.survival()


def may_fail(scenario: Scenario) -> str | None:
    """Why a reported failure (never a wrong sum) is allowed here. None: everything must complete."""
    return _survival(scenario).may_fail(scenario)


def unsurvivable(scenario: Scenario) -> str | None:
    """Why the argument does not hold for a scenario; None: it does."""
    return _survival(scenario).unsurvivable(scenario)


def excused(plan: Plan) -> frozenset[str]:
    """Workers that need not finish, where a failure is all right."""
    return _survival(plan.scenario).excused(plan)
