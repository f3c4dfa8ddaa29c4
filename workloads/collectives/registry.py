"""What runs a worker's collective: by its kind where it is one ring over all workers, else by its phases."""

from __future__ import annotations

from workloads.collectives.base import Collective
from workloads.collectives.kinds import ring_kind
from workloads.collectives.lengths import require_ring
from workloads.collectives.meshed import MeshCollective
from workloads.collectives.netreduce import NetReduceCollective
from workloads.collectives.phased import PhasedCollective
from workloads.collectives.ring import RingCollective
from workloads.collectives.staged import StagedCollective
from workloads.collectives.traced import TracedCollective
from workloads.config import CHANNEL, WorkerConfig
from workloads.traces.program import TracedConfig
from workloads.transports.endpoint import Verbs

__all__ = ["create_collective"]


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
    ring = NetReduceCollective if ring_kind(worker.collective.kind).in_messages else RingCollective
    return ring(worker, endpoint, elements, iterations)
