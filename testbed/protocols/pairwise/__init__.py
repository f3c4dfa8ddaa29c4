"""All-to-all by pairwise exchange between the hosts. No switch takes part (docs/operations.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.scheduled import scheduled
from workloads.collectives.pairwise import pairwise
from workloads.config import HostConfig

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


def _order(plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
    """Nothing is added."""
    from testbed.checkers.operations import held_by_ranks  # when a run is judged

    return held_by_ranks(plan.scenario.job.operation, 0, gradients, gradients[0])


PROTOCOL = scheduled(
    "pairwise",
    "pairwise exchange: each rank swaps chunks with one partner after the other, for all-to-all",
    {"all_to_all": pairwise},
    _order,
    gradients=lambda ranks: 2 * (ranks - 1) / ranks,
    sums=False,
)
