"""Tencent's all-reduce: to a master inside each machine, a ring of the masters, from the masters back
(docs/hierarchical.md)."""

from __future__ import annotations

from testbed.checkers.orders import masters_of_machines
from testbed.plan.hierarchical import plan_masters
from testbed.plan.machines import machine_rates
from testbed.plan.model import Plan
from testbed.scenario.checks import check_machines
from testbed.scenario.protocol import Protocol, Traits
from workloads.costs import machine_cost

__all__ = ["PROTOCOL"]


def _bound(plan: Plan, link_bps: float) -> float:
    """The closed form without latencies; it reduces inside a machine even where there is nobody to reduce with."""
    place = machine_rates(plan)
    return 8 / machine_cost("FR" if place.per_machine == 1 else "TA").seconds(place, 1)


PROTOCOL = Protocol(
    name="tencent",
    summary="reduce to a master inside each machine, ring of the masters, broadcast inside (topology machines, program "
    "forward)",
    plan=plan_masters,
    traits=Traits(
        reliable=True,
        needs="topology.kind: machines",
        why_no_clamping="what machines sum for themselves would clamp early",
    ),
    checks=(check_machines,),
    order=masters_of_machines,
    bound=_bound,
)
