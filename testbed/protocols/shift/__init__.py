"""The workers of NetReduce through a plain switch: what each gets is its predecessor's gradient."""

from __future__ import annotations

from testbed.scenario.protocol import Protocol, Traits
from workloads.config import IRN_END_TO_END
from workloads.lazily import later

__all__ = ["PROTOCOL"]

PROTOCOL = Protocol(
    name="shift",
    summary="NetReduce workers through a plain switch: each host gets its predecessor's gradient (program forward)",
    plan=later("testbed.plan.ring:plan_ring"),
    traits=Traits(reliable=True, recoveries=("gbn", *IRN_END_TO_END), sums=False, in_messages=True, told_share=0.06),
    order=later("testbed.checkers.orders:of_predecessor"),
)
