"""All-to-all by pairwise exchange between the hosts. No switch takes part (docs/operations.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.scheduled import ScheduledProtocol
from testbed.scenario.protocols.protocol import ResultKind
from workloads.config import HostConfig
from workloads.pairwise.schedule import pairwise

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


class _Pairwise(ScheduledProtocol):
    def result(self) -> ResultKind:
        return ResultKind.ORDERED

    def gradients(self, ranks: int) -> float:
        return 2 * (ranks - 1) / ranks

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        """Nothing is added."""
        from testbed.checkers.operations import held_by_ranks  # when a run is judged

        return held_by_ranks(plan.scenario.job.operation, 0, gradients, gradients[0])


PROTOCOL = _Pairwise(
    name="pairwise",
    title="Pairwise exchange",
    summary="all-to-all: each rank swaps chunks with one partner after the other (program forward)",
    schedules={"all_to_all": pairwise},
)
