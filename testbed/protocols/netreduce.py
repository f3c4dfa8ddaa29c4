"""NetReduce: each host sends its gradient once, under RoCE v2, and the switch puts the sum into the packets
(docs/netreduce.md)."""

from __future__ import annotations

from testbed.checkers.orders import in_rank_order
from testbed.plan.ring import plan_ring
from testbed.scenario.checks import check_fabric
from testbed.scenario.protocol import Protocol, Traits
from workloads.config import IRN_RECOVERIES

__all__ = ["PROTOCOL"]

PROTOCOL = Protocol(
    name="netreduce",
    summary="each host sends its gradient once, the switch sums it (program netreduce)",
    plan=plan_ring,
    programs=("netreduce", "fpga"),
    traits=Traits(
        reliable=True,
        recoveries=("gbn", *IRN_RECOVERIES),
        in_messages=True,
        is_stage=True,
        may_fall_back=True,
        told_share=0.06,
    ),
    checks=(check_fabric,),
    order=in_rank_order,
)
