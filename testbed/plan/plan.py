"""From a scenario to the configuration of every node, all of it drawn from the seed: the same in all worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from testbed.plan.background import plan_background
from testbed.plan.connections import plan_connections
from testbed.plan.model import Plan
from testbed.plan.side_by_side import side_by_side
from testbed.scenario.known import protocol_of
from testbed.scenario.model import Scenario
from workloads.config import WorkerConfig

__all__ = ["Plan", "make_plan", "plan_as", "with_workers"]


def make_plan(scenario: Scenario) -> Plan:
    """What each of the scenario's collectives makes of its jobs (`Protocol.plan`), and the background traffic."""
    plan = side_by_side(scenario, [_plan_part(part) for part in scenario.parts])
    return replace(plan, background=plan_background(scenario))


def _plan_part(part: Scenario) -> Plan:
    plan: Plan = protocol_of(part.job.collective).plan(part)
    return plan


def plan_as(collective: str, scenario: Scenario) -> Plan:
    """What the collective of that name makes of a scenario of another one, for a protocol that shares its workers or
    switches."""
    borrowed = replace(
        scenario,
        job=replace(scenario.job, collective=collective),
        jobs=tuple(replace(job, collective=collective) for job in scenario.jobs),
    )
    plan: Plan = protocol_of(collective).plan(borrowed)
    return replace(plan, scenario=scenario)


def with_workers(plan: Plan, workers: Sequence[WorkerConfig]) -> Plan:
    """The same plan for workers whose queue pairs have other numbers, keys or addresses, since devices chose them: what
    faults and checkers know of the connections follows."""
    return replace(plan, workers=tuple(workers), connections=plan_connections(tuple(workers)))
