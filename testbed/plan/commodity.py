"""Which switches of a plan are no nodes of ours, but Open vSwitch under our controller."""

from __future__ import annotations

from testbed.plan.plan import Plan

__all__ = ["CONTROLLER", "openflow_switches"]

CONTROLLER = "controller"
"""name of the node process that steers them"""
_PLAIN = ("forward", "steer")


def openflow_switches(plan: Plan) -> frozenset[str]:
    """None in the simulated world, where our own programs forward by the same rules."""
    scenario = plan.scenario
    if scenario.switch.commodity != "openflow" or scenario.world == "simulated":
        return frozenset()
    return frozenset(config.name for config in plan.switches if config.program in _PLAIN)
