"""Rabenseifner's all-reduce: recursive halving, then doubling, between pairs of hosts (docs/pairs.md)."""

from __future__ import annotations

from testbed.checkers.orders import in_pairs
from testbed.plan.model import Plan
from testbed.plan.paired import plan_pairs, slowest_host_bps
from testbed.scenario.checks_pairs import check_halves, check_pairs
from testbed.scenario.protocol import Protocol, Traits
from workloads.config import IRN_RECOVERIES

__all__ = ["PROTOCOL"]


def _bound(plan: Plan, link_bps: float) -> float:
    """Each gradient takes 2 (D - 1) / D times its own time on a link, D being the largest power of two in the hosts,
    and its own to fold in and out where they are more than that."""
    size = len(plan.workers)
    within = 1 << size.bit_length() - 1
    return slowest_host_bps(plan) / (2 * (within - 1) / within + 2 * (size != within))


PROTOCOL = Protocol(
    name="rabenseifner",
    summary="Rabenseifner's all-reduce: recursive halving, then doubling (program forward)",
    plan=plan_pairs,
    traits=Traits(
        reliable=True,
        recoveries=("gbn", *IRN_RECOVERIES),
        told_share=0.5,
        why_no_clamping="pairs add step by step and would clamp early",
    ),
    checks=(
        check_pairs,
        check_halves,
    ),
    order=in_pairs,
    bound=_bound,
)
