"""Schedules of all-reduces, by the collective that has them: those that the protocols bind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from testbed.plan.scheduled import plan_schedule
from testbed.scenario.known import protocols
from workloads.collectives.operations import ALL_REDUCE
from workloads.collectives.pairs import Schedule

__all__ = ["SCHEDULES"]

SCHEDULES: Mapping[str, Schedule] = {
    protocol.name: protocol.plan.args[0][ALL_REDUCE]
    for protocol in protocols()
    if isinstance(protocol.plan, partial) and protocol.plan.func is plan_schedule and ALL_REDUCE in protocol.operations
}
