"""Plans of a protocol that shares its workers or switches with another one."""

from __future__ import annotations

from dataclasses import replace

from testbed.plan.model import Plan
from testbed.scenario.known import protocol_of
from testbed.scenario.model import Scenario

__all__ = ["plan_as"]


def plan_as(collective: str, scenario: Scenario) -> Plan:
    """What the collective of that name makes of a scenario of another one."""
    borrowed = replace(
        scenario,
        job=replace(scenario.job, collective=collective),
        jobs=tuple(replace(job, collective=collective) for job in scenario.jobs),
    )
    plan: Plan = protocol_of(collective).plan(borrowed)
    return replace(plan, scenario=scenario)
