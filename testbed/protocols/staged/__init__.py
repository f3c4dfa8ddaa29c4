"""A parallelisation strategy as a job: all-reduces and reshards one after the other, with computing between them
(docs/strategies.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.scenario.protocol import Protocol, Traits
from testbed.scenario.strategies import StrategyKeys, check_strategy
from workloads.collectives.kinds import sent_share
from workloads.config import WorkerConfig
from workloads.lazily import later

if TYPE_CHECKING:
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


def _bound(plan: Plan, link_bps: float) -> float:
    """`link_bps` is the share of one of the rings; they follow one another, and each has all of the link. A stage sends
    its vector once, (P-1)/P of it or twice that."""
    worker = plan.workers[0]
    assert isinstance(worker, WorkerConfig)
    size = len(plan.workers)
    sent = sum(phase.elements * sent_share(phase.collective.kind, size) for phase in worker.phases)
    return link_bps * len(worker.phases) * worker.workload.elements / sent


PROTOCOL = Protocol(
    name="staged",
    summary="a parallelisation strategy: all-reduces and reshards with computing between them (program netreduce, or "
    "forward)",
    plan=later("testbed.plan.strategies:plan_strategy"),
    programs=("netreduce", "fpga", "rtl", "forward"),
    traits=Traits(
        reliable=True,
        sums=False,  # a reshard gives each rank what the others have
        told_share=0.25,
        needs="job.strategy and job.chain",
        why_no_clamping="partial sums of a ring would clamp early",
    ),
    job_keys=StrategyKeys,
    checks=(check_strategy,),
    order=later("testbed.checkers.orders:in_stages"),
    bound=_bound,
)
