"""A binomial tree: whole gradients up to rank 0, and the sum down again (docs/binomial-tree.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.scheduled import ScheduledProtocol
from workloads.binomial_tree.schedule import binomial_tree, tree_broadcast, tree_reduce
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import HostConfig

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scale.model import RackModel

__all__ = ["PROTOCOL"]


class _BinomialTree(ScheduledProtocol):
    def gradients(self, ranks: int) -> float:
        return 2 * (ranks - 1).bit_length()

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.folds import tree_fold  # when a run is judged
        from testbed.checkers.operations import held_by_ranks

        job = plan.scenario.job
        total = tree_fold(gradients, workers[0].collective.arithmetic, job.root)
        return held_by_ranks(job.operation, job.root, gradients, total)

    def rack_model(self) -> RackModel:
        from testbed.protocols.binomial_tree.scale import MODEL  # when a large system is estimated

        return MODEL


PROTOCOL = _BinomialTree(
    name="binomial_tree",
    title="Binomial tree",
    summary="binomial tree: whole gradients up to rank 0, the sum down (program forward)",
    schedules={ALL_REDUCE: binomial_tree, "broadcast": tree_broadcast, "reduce": tree_reduce},
)
