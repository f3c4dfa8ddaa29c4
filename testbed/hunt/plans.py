"""Plans of schedules: what draws one, bounds it and runs it asks for the same plan several times."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from testbed.hunt.survival import travel_ns
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from workloads.rc.recovery import rto_ns

__all__ = ["plan_of", "with_timers"]

_KEPT = 4
"""plans: a schedule is drawn from a calm one, and judged with and without its trace"""
_CODES = 32
_newest: deque[tuple[Scenario, Plan]] = deque(maxlen=_KEPT)


def plan_of(scenario: Scenario) -> Plan:
    """As `make_plan`, which is called once for one scenario. Plans are values, and no code changes them. Hunts do
    not report why the timers of a schedule are as they are."""
    for known, plan in _newest:
        if known is scenario:
            return plan
    plan = make_plan(scenario, explained=False)
    _newest.append((scenario, plan))
    return plan


def with_timers(scenario: Scenario) -> Scenario:
    """The scenario with numbers for the timers which bounds of schedules are made of. It loads back from its file. A
    timer that is `auto` covers what those bounds count: a whole window, also where a job is too small to fill it."""
    key = "timeout_code" if protocol_of(scenario.job.protocol).repairs_losses() else "rto_ns"
    if getattr(scenario.transport, key) is not None:
        return scenario
    chosen = getattr(plan_of(scenario).scenario.transport, key)
    if key == "timeout_code":
        travel = travel_ns(scenario)
        lasting = (code for code in range(chosen, _CODES) if (rto_ns(code) or 0) >= travel)
        chosen = next(lasting, chosen)
    return replace(scenario, transport=replace(scenario.transport, **{key: chosen}))
