"""From a scenario to the configuration of every node: the same in all worlds."""

from testbed.plan.plan import Plan, make_plan, with_workers

__all__ = ["Plan", "make_plan", "with_workers"]
