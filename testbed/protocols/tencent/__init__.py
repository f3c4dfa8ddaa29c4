"""Tencent's all-reduce: to a master inside each machine, a ring of the masters, from the masters back
(docs/hierarchical.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.scenario.checks import check_machines
from testbed.scenario.protocol import Protocol, Traits
from workloads.lazily import later

if TYPE_CHECKING:
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


def _bound(plan: Plan, link_bps: float) -> float:
    """The closed form without latencies. It reduces inside a machine even where the machine has one worker only."""
    from testbed.plan.machines import machine_rates  # when a run is measured
    from workloads.costs import machine_cost

    place = machine_rates(plan)
    return 8 / machine_cost("FR" if place.per_machine == 1 else "TA").seconds(place, 1)


PROTOCOL = Protocol(
    name="tencent",
    summary="reduce to a master inside each machine, ring of the masters, broadcast inside (topology machines, program "
    "forward)",
    plan=later("testbed.plan.hierarchical:plan_masters"),
    traits=Traits(
        reliable=True,
        needs="topology.kind: machines",
        why_no_clamping="what machines sum for themselves would clamp early",
    ),
    checks=(check_machines,),
    order=later("testbed.checkers.orders:masters_of_machines"),
    bound=_bound,
)
