"""From a scenario to the configuration of every node: the same in all worlds."""

from testbed.plan.background import PlannedFlow, udp_ends
from testbed.plan.plan import Plan, make_plan, plan_as, with_workers

__all__ = ["Plan", "PlannedFlow", "make_plan", "plan_as", "udp_ends", "with_workers"]
