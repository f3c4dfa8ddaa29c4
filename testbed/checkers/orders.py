"""In which order each protocol adds: what every rank must hold, worked out from the plan and the gradients of its group
alone.

Each function takes the plan, the workers of one ring or job by rank, and their gradients, and gives what each of them
must hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from testbed.checkers.contract import judged_protocol
from testbed.checkers.folds import Array, fold, masters_fold, pairs_fold, pieces_fold, ring_fold
from testbed.checkers.operations import held_by_ranks
from testbed.checkers.reference_quantised import quantised_sum, scaled_sum
from testbed.plan import Plan
from topologies import machine_groups
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import HostConfig, WorkerConfig

__all__ = [
    "in_far_pairs",
    "in_pairs",
    "in_rank_order",
    "in_ring_order",
    "in_stages",
    "masters_of_machines",
    "of_predecessor",
    "pieces_of_machines",
    "quantised",
]

Workers = Sequence[HostConfig]


def in_rank_order(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    """Each rack by rank, then the racks in their order (protocol text section 7, two levels); without racks, all by
    rank."""
    arithmetic, racks = workers[0].collective.arithmetic, plan.racks or (len(workers),)
    parts = [gradients[end - size : end] for end, size in zip(accumulate(racks), racks, strict=True)]
    return _held(plan, gradients, fold([fold(part, arithmetic) for part in parts], arithmetic))


def in_ring_order(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    operation, arithmetic = plan.scenario.job.operation, workers[0].collective.arithmetic
    # A reduce-scatter leads chunk c round so that it ends at rank c.
    total = ring_fold(gradients, arithmetic, first=int(operation == "reduce_scatter"))
    return held_by_ranks(operation, plan.scenario.job.root, gradients, total)


def in_stages(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    """A vector of its own for each phase: summed as the phase's protocol does. The vector of an all-gather is put
    together from what rank r has in chunk (r + 1) mod P."""
    first = workers[0]
    assert isinstance(first, WorkerConfig)
    parts = []
    for phase in first.phases:
        own = slice(phase.first_element, phase.first_element + phase.elements)
        vectors = [gradient[own] for gradient in gradients]
        if phase.collective.kind == "all_gather":
            chunks = [np.array_split(vector, len(vectors)) for vector in vectors]
            parts.append(np.concatenate([chunks[number - 1][number] for number in range(len(vectors))]))
        else:
            parts += judged_protocol(phase.collective.kind).order(plan, workers, vectors)[:1]
    return [np.concatenate(parts)] * len(workers)


def in_pairs(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    return [pairs_fold(gradients, workers[0].collective.arithmetic)] * len(workers)


def in_far_pairs(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    """Far partners meet first."""
    return [pairs_fold(gradients, workers[0].collective.arithmetic, far_first=True)] * len(workers)


def of_predecessor(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    """Nothing is added."""
    return [gradients[rank - 1] for rank in range(len(workers))]


def pieces_of_machines(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    return [pieces_fold(_machines(plan, workers), gradients, workers[0].collective.arithmetic)] * len(workers)


def masters_of_machines(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    return [masters_fold(_machines(plan, workers), gradients, workers[0].collective.arithmetic)] * len(workers)


def quantised(plan: Plan, workers: Workers, gradients: Sequence[Array]) -> list[Array]:
    """Floats as integers: with exponents that the workers agree on block by block, or with one scale
    (`fixed_scale`)."""
    first = workers[0]
    scale: float | None = getattr(first, "fixed_scale", None)
    elements = first.framing.payload_bytes // 4
    total = quantised_sum(gradients, elements // 2) if scale is None else scaled_sum(gradients, scale)
    return _held(plan, gradients, total)


def _held(plan: Plan, gradients: Sequence[Array], total: Array) -> list[Array]:
    """What each rank keeps: of an element that stands for an empty vector, nothing."""
    job = plan.scenario.job
    held = held_by_ranks(job.operation, job.root, gradients, total)
    return held if job.size_bytes or job.operation == ALL_REDUCE else [each[:0] for each in held]


def _machines(plan: Plan, workers: Workers) -> list[list[int]]:
    """The ranks of each machine."""
    ranks = {worker.name: rank for rank, worker in enumerate(workers)}
    return [
        [ranks[host.name] for host in group if host.name in ranks] for group in machine_groups(plan.scenario.topology)
    ]
