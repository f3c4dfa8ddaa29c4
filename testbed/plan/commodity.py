"""Which switches of a plan are no nodes of ours, but Open vSwitch under our controller."""

from __future__ import annotations

from switch_nodes.kinds import sums
from testbed.plan.plan import Plan

__all__ = ["commodity_switches", "openflow_switches"]


def commodity_switches(plan: Plan) -> frozenset[str]:
    """Those that aggregate nothing."""
    return frozenset(config.name for config in plan.switches if not sums(config.program))


def openflow_switches(plan: Plan) -> frozenset[str]:
    """None in the simulated world, where our own programs forward by the same rules."""
    scenario = plan.scenario
    if scenario.switch.commodity != "openflow" or scenario.world == "simulated":
        return frozenset()
    return commodity_switches(plan)
