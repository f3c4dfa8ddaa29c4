"""From a scenario to the configuration of every node: the same in all worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.plan.background import PlannedFlow, udp_ends
    from testbed.plan.plan import Plan, make_plan, plan_as, with_workers

__all__ = ["Plan", "PlannedFlow", "make_plan", "plan_as", "udp_ends", "with_workers"]

__getattr__ = lazily(
    __name__,
    {
        "Plan": ".plan",
        "PlannedFlow": ".background",
        "make_plan": ".plan",
        "plan_as": ".plan",
        "udp_ends": ".background",
        "with_workers": ".plan",
    },
)
