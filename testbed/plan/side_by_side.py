"""Jobs of several protocols on one network: each protocol plans its own, and the plans become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from testbed.plan.model import Plan
from testbed.scenario.model import Scenario
from workloads.errors import InternalError

__all__ = ["side_by_side"]


def side_by_side(scenario: Scenario, parts: Sequence[Plan]) -> Plan:
    """`parts`: of each protocol its plan, as `Scenario.parts`. The switches are those of the first; the others ask
    nothing of them."""
    first, *others = parts
    if not others:
        return first
    for plan in others:
        asking = [switch.name for switch in plan.switches if switch.rings or switch.jobs or switch.grid]
        if asking:
            raise InternalError(f"{plan.scenario.job.protocol} asks something of {asking[0]}, and was not refused")
    return replace(
        first,
        scenario=scenario,
        workers=tuple(worker for plan in parts for worker in plan.workers),
        connections=tuple(connection for plan in parts for connection in plan.connections),
        servers=tuple(server for plan in parts for server in plan.servers),
        beside=tuple(parts),
    )
