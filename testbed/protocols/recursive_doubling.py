"""Recursive doubling, the butterfly: pairs of hosts exchange whole gradients, log2 N times (docs/pairs.md)."""

from __future__ import annotations

from testbed.checkers.orders import in_pairs
from testbed.plan.model import Plan
from testbed.plan.paired import plan_pairs, slowest_host_bps
from testbed.scenario.checks_pairs import check_pairs
from testbed.scenario.protocol import Protocol, Traits
from workloads.config import IRN_RECOVERIES

__all__ = ["PROTOCOL"]


def _bound(plan: Plan, link_bps: float) -> float:
    """Each step takes a gradient's time on a link; where the hosts are no power of two, one folds in and one out."""
    size = len(plan.workers)
    steps = size.bit_length() - 1
    return slowest_host_bps(plan) / (steps + 2 * (size != 1 << steps))


PROTOCOL = Protocol(
    name="recursive_doubling",
    summary="recursive doubling (butterfly): pairs exchange whole gradients (program forward)",
    plan=plan_pairs,
    traits=Traits(
        reliable=True,
        recoveries=("gbn", *IRN_RECOVERIES),
        told_share=0.5,
        why_no_clamping="pairs add step by step and would clamp early",
    ),
    checks=(check_pairs,),
    order=in_pairs,
    bound=_bound,
)
