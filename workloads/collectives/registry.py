"""What runs a worker's collective: by its kind where it is one ring over all workers, else by its phases."""

from __future__ import annotations

from collections.abc import Callable

from workloads.collectives.base import Collective
from workloads.collectives.lengths import require_ring
from workloads.collectives.meshed import MeshCollective
from workloads.collectives.netreduce import NetReduceCollective
from workloads.collectives.phased import PhasedCollective
from workloads.collectives.ring import RingCollective
from workloads.collectives.slots import Verbs
from workloads.collectives.staged import StagedCollective
from workloads.collectives.traced import TracedCollective
from workloads.config import CHANNEL, WorkerConfig
from workloads.traces.program import TracedConfig

__all__ = ["create_collective"]

_RINGS: dict[str, Callable[[WorkerConfig, Verbs, int, int], Collective]] = {
    "netreduce": NetReduceCollective,
    "ring": RingCollective,
    "ring_reduce_scatter": RingCollective,
    "ring_all_gather": RingCollective,
    "shift": NetReduceCollective,
}


def create_collective(worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> Collective:
    """The collective that the worker's configuration names, for gradients of `elements`. Raises ScenarioError when
    there is none of its kind and it has no phases, or when it cannot do the arithmetic."""
    if isinstance(worker, TracedConfig):
        return TracedCollective(worker, endpoint, elements, iterations)
    if worker.phases and worker.phases[0].collective.kind == CHANNEL:
        return MeshCollective(worker, endpoint, worker.phases, iterations)
    if worker.phases:
        kind = StagedCollective if worker.phases[0].apart else PhasedCollective
        return kind(worker, endpoint, elements, iterations)
    require_ring(worker.collective.kind)
    return _RINGS[worker.collective.kind](worker, endpoint, elements, iterations)
