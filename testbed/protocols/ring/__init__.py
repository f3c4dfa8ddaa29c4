"""Ring all-reduce between the hosts: reduce-scatter, then all-gather. No switch sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.protocols.parts.scheduled import PAIRS_HUNT
from testbed.scenario.protocol import Protocol, Traits
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import IRN_END_TO_END
from workloads.lazily import later

if TYPE_CHECKING:
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


def _bound(plan: Plan, link_bps: float) -> float:
    """Each gradient crosses a link 2 (P - 1) / P times (protocol text, section 1); in a half alone, half as often."""
    size = len(plan.workers)
    return link_bps * (size / ((2 if plan.scenario.job.operation == ALL_REDUCE else 1) * (size - 1)))


PROTOCOL = Protocol(
    name="ring",
    summary="ring all-reduce: reduce-scatter, then all-gather (program forward)",
    plan=later("testbed.plan.ring:plan_ring"),
    traits=Traits(
        reliable=True,
        in_place=True,
        recoveries=("gbn", *IRN_END_TO_END),
        is_stage=True,
        told_share=0.25,
        as_fallback="each worker then starts the job again as ring all-reduce between the hosts (collective netreduce "
        "only)",
        why_no_clamping="a ring adds step by step and would clamp early",
    ),
    operations=(ALL_REDUCE, "reduce_scatter", "all_gather"),
    order=later("testbed.checkers.orders:in_ring_order"),
    bound=_bound,
    hunt=PAIRS_HUNT,
)
