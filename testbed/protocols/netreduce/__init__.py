"""NetReduce: each host sends its gradient once, under RoCE v2, and the switch puts the sum into the packets
(docs/netreduce.md)."""

from __future__ import annotations

from testbed.scenario.checks import check_fabric
from testbed.scenario.protocol import Protocol, Traits
from workloads.config import IRN_RECOVERIES
from workloads.lazily import later

__all__ = ["PROTOCOL"]

PROTOCOL = Protocol(
    name="netreduce",
    summary="each host sends its gradient once, the switch sums it (program netreduce)",
    plan=later("testbed.plan.ring:plan_ring"),
    programs=("netreduce", "fpga", "rtl"),
    traits=Traits(
        reliable=True,
        in_place=True,
        recoveries=("gbn", *IRN_RECOVERIES),
        in_messages=True,
        is_stage=True,
        may_fall_back=True,
        told_share=0.06,
    ),
    checks=(check_fabric,),
    order=later("testbed.checkers.orders:in_rank_order"),
)
