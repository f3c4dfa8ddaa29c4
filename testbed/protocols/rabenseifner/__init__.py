"""Rabenseifner's all-reduce: recursive halving, then doubling, between pairs of hosts (docs/pairs.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from testbed.protocols.parts.scheduled import scheduled
from testbed.protocols.rabenseifner.keys import RabenseifnerKeys
from testbed.scenario.checks_pairs import check_halves
from testbed.scenario.model import Job
from workloads.collectives.rabenseifner import rabenseifner
from workloads.config import HostConfig

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]


def _gradients(ranks: int) -> float:
    """2 (D - 1) / D, D being the largest power of two in the ranks, and one to fold in and one out where they are
    more."""
    within = 1 << ranks.bit_length() - 1
    return 2 * (within - 1) / within + 2 * (ranks != within)


def _keys(job: Job) -> RabenseifnerKeys:
    return job.own if isinstance(job.own, RabenseifnerKeys) else RabenseifnerKeys()


def _options(job: Job) -> Mapping[str, Any]:
    return {"far_first": _keys(job).far_first}


def _order(plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
    from testbed.checkers.orders import in_far_pairs, in_pairs  # when a run is judged

    add = in_far_pairs if _keys(plan.scenario.job).far_first else in_pairs
    return add(plan, workers, gradients)


def _draw_keys(draw: Random) -> RabenseifnerKeys:
    return RabenseifnerKeys(draw.choice(("near", "far")))


PROTOCOL = scheduled(
    "rabenseifner",
    "Rabenseifner's all-reduce: recursive halving, then doubling",
    rabenseifner,
    _order,
    gradients=_gradients,
    checks=(check_halves,),
    job_keys=RabenseifnerKeys,
    options=_options,
    draw_keys=_draw_keys,
)
