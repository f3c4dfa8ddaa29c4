"""From a scenario to the configuration of every node, all of it drawn from the seed: the same in all worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from testbed.plan.auto_timers import drafted, has_auto, timers_of
from testbed.plan.background import plan_background
from testbed.plan.connections import plan_connections
from testbed.plan.contract import planned_protocol
from testbed.plan.model import Plan
from testbed.plan.own import planned
from testbed.plan.side_by_side import side_by_side
from testbed.plan.timers import Timers
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.own_code import require
from workloads.config import WorkerConfig
from workloads.ownvalues import instances

__all__ = ["Plan", "make_plan", "plan_as", "with_workers"]


def make_plan(scenario: Scenario, *, explained: bool = True) -> Plan:
    """What each of the scenario's protocols makes of its jobs (`Protocol.plan`), and the background traffic. Each
    protocol plans twice: the first plan shows what may be under way, from which timers follow that are `auto`. The
    scenario of the plan has numbers for all timers. `explained`: the plan also says what each timer is measured
    against (`Plan.timers`). False: it does so only for a protocol that has a timer which is `auto`."""
    background = plan_background(scenario)
    drafts = [_plan_part(drafted(part)) for part in scenario.parts]
    whole = replace(side_by_side(scenario, drafts), background=background)
    chosen = [
        timers_of(part, draft, whole) if explained or has_auto(part, draft) else (draft.scenario.transport, Timers())
        for part, draft in zip(scenario.parts, drafts, strict=True)
    ]
    plans = [
        replace(
            draft if draft.scenario.transport == transport else _plan_part(replace(part, transport=transport)),
            timers=timers,
        )
        for part, draft, (transport, timers) in zip(scenario.parts, drafts, chosen, strict=True)
    ]
    (first, _), *others = chosen
    beside = tuple(
        replace(entry, transport=transport) for entry, (transport, _) in zip(scenario.beside, others, strict=True)
    )
    return replace(side_by_side(replace(scenario, transport=first, beside=beside), plans), background=background)


def _plan_part(part: Scenario) -> Plan:
    """Raises ScenarioError where a protocol of the user's own plans what no world can run."""
    protocol = planned_protocol(part.job.runs)
    plan: Plan = require(protocol.plan, protocol.plan(part), instances("a Plan", Plan))
    for name, allowed in planned(part).items():
        require(protocol.plan, getattr(plan, name), replace(allowed, words=f"a Plan whose {name} are {allowed.words}"))
    return plan


def plan_as(name: str, scenario: Scenario) -> Plan:
    """What the protocol of that name makes of a scenario of another one, for a protocol that shares its workers or
    switches."""
    borrowed = replace(
        scenario,
        job=replace(scenario.job, protocol=name),
        jobs=tuple(replace(job, protocol=name) for job in scenario.jobs),
    )
    return replace(planned_protocol(name).plan(borrowed), scenario=scenario)


def with_workers(plan: Plan, workers: Sequence[WorkerConfig]) -> Plan:
    """The same plan for workers whose queue pairs have other numbers, keys or addresses, since devices chose them: what
    faults and checkers know of the connections follows."""
    return replace(plan, workers=tuple(workers), connections=plan_connections(tuple(workers)))
