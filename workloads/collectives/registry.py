"""What runs a worker's collective: by its kind where it is one ring over all workers, else by its phases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workloads.collectives.base import Collective
from workloads.collectives.netreduce import NetReduceCollective, netreduce_packets
from workloads.collectives.phased import PhasedCollective
from workloads.collectives.ring import RingCollective
from workloads.collectives.schedules import ring_packets
from workloads.collectives.slots import Verbs
from workloads.collectives.staged import StagedCollective
from workloads.config import PHASE_KINDS, CollectiveConfig, WorkerConfig
from workloads.errors import ScenarioError

__all__ = ["create_collective", "message_packets"]


@dataclass(frozen=True, slots=True)
class _Ring:
    create: Callable[[WorkerConfig, Verbs, int, int], Collective]
    packets: Callable[[CollectiveConfig, int, int, int], tuple[int, ...]]


_RINGS: dict[str, _Ring] = {
    "netreduce": _Ring(NetReduceCollective, netreduce_packets),
    "ring": _Ring(RingCollective, ring_packets),
    "shift": _Ring(NetReduceCollective, netreduce_packets),
}


def create_collective(worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> Collective:
    """The collective that the worker's configuration tells, for gradients of `elements`. Raises ScenarioError when
    there is none of its kind and it has no phases, or when it cannot do the arithmetic."""
    if worker.phases:
        kind = StagedCollective if worker.phases[0].apart else PhasedCollective
        return kind(worker, endpoint, elements, iterations)
    return _ring(worker.collective.kind).create(worker, endpoint, elements, iterations)


def message_packets(config: CollectiveConfig, elements: int, iterations: int, path_mtu: int) -> tuple[int, ...]:
    """Packets of each message that the connection from rank `config.rank` to its successor carries in a whole job, in
    order, without retransmissions. Raises ScenarioError when that is no ring: each phase has connections of its own."""
    packets = ring_packets if config.kind in PHASE_KINDS else _ring(config.kind).packets
    return packets(config, elements, iterations, path_mtu)


def _ring(kind: str) -> _Ring:
    found = _RINGS.get(kind)
    if found is None:
        raise ScenarioError(
            "no ring is of that kind, and the worker is told no phases", key="job.collective", found=kind,
            allowed=f"{', '.join(_RINGS)}; any other with the phases of a plan",
        )  # fmt: skip
    return found
