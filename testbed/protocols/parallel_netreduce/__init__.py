"""Parallel NetReduce: reduce-scatter inside each machine, NetReduce between them, all-gather inside
(docs/hierarchical.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.scenario.checks import check_machines, check_pieces
from testbed.scenario.protocol import Protocol, Traits
from workloads.lazily import later

if TYPE_CHECKING:
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


def _bound(plan: Plan, link_bps: float) -> float:
    """The closed form without latencies."""
    from testbed.plan.machines import machine_rates  # when a run is measured
    from workloads.costs import machine_cost

    return 8 / machine_cost("PN").seconds(machine_rates(plan), 1)


PROTOCOL = Protocol(
    name="parallel_netreduce",
    summary="reduce-scatter inside each machine, NetReduce between them, all-gather inside (topology machines, program "
    "netreduce)",
    plan=later("testbed.plan.hierarchical:plan_parallel"),
    programs=("netreduce", "fpga", "rtl"),
    traits=Traits(
        reliable=True,
        needs="topology.kind: machines",
        why_no_clamping="what machines sum for themselves would clamp early",
    ),
    checks=(check_machines, check_pieces),
    order=later("testbed.checkers.orders:pieces_of_machines"),
    bound=_bound,
)
