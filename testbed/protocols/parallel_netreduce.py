"""Parallel NetReduce: reduce-scatter inside each machine, NetReduce between them, all-gather inside
(docs/hierarchical.md)."""

from __future__ import annotations

from testbed.checkers.orders import pieces_of_machines
from testbed.plan.hierarchical import plan_parallel
from testbed.plan.machines import machine_rates
from testbed.plan.model import Plan
from testbed.scenario.checks import check_machines, check_pieces
from testbed.scenario.protocol import Protocol, Traits
from workloads.costs import machine_cost

__all__ = ["PROTOCOL"]


def _bound(plan: Plan, link_bps: float) -> float:
    """The closed form without latencies."""
    return 8 / machine_cost("PN").seconds(machine_rates(plan), 1)


PROTOCOL = Protocol(
    name="parallel_netreduce",
    summary="reduce-scatter inside each machine, NetReduce between them, all-gather inside (topology machines, program "
    "netreduce)",
    plan=plan_parallel,
    programs=("netreduce", "fpga"),
    traits=Traits(
        reliable=True,
        needs="topology.kind: machines",
        why_no_clamping="what machines sum for themselves would clamp early",
    ),
    checks=(check_machines, check_pieces),
    order=pieces_of_machines,
    bound=_bound,
)
