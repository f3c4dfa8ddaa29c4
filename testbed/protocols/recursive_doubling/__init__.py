"""Recursive doubling, the butterfly: pairs of hosts exchange whole gradients, log2 N times (docs/pairs.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.scheduled import ScheduledProtocol
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import HostConfig
from workloads.recursive_doubling.schedule import recursive_doubling

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


class _RecursiveDoubling(ScheduledProtocol):
    def gradients(self, ranks: int) -> float:
        """Each step takes a gradient's time; where the ranks are no power of two, one folds in and one out."""
        steps = ranks.bit_length() - 1
        return steps + 2 * (ranks != 1 << steps)

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import in_pairs  # when a run is judged

        return in_pairs(plan, workers, gradients)


PROTOCOL = _RecursiveDoubling(
    name="recursive_doubling",
    title="Recursive doubling",
    summary="recursive doubling (butterfly): pairs exchange whole gradients (program forward)",
    schedules={ALL_REDUCE: recursive_doubling},
)
