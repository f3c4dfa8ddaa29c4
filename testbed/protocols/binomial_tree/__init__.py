"""A binomial tree: whole gradients up to rank 0, and the sum down again (docs/binomial-tree.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.scheduled import ScheduledProtocol
from workloads.collectives.binomial_tree import binomial_tree
from workloads.config import HostConfig

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


class _BinomialTree(ScheduledProtocol):
    def gradients(self, ranks: int) -> float:
        return 2 * (ranks - 1).bit_length()

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        """Neighbours are added until one is left; a last one without a neighbour goes on as it is."""
        from testbed.checkers.folds import fold  # when a run is judged

        level = list(gradients)
        while len(level) > 1:
            level = [fold(level[i : i + 2], workers[0].collective.arithmetic) for i in range(0, len(level), 2)]
        return level * len(workers)


PROTOCOL = _BinomialTree(
    name="binomial_tree",
    summary="binomial tree: whole gradients up to rank 0, the sum down (program forward)",
    schedule=binomial_tree,
)
