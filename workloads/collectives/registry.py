"""Collectives by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from workloads.collectives.base import Collective
from workloads.collectives.netreduce import NetReduceCollective, netreduce_packets
from workloads.collectives.paired import PairedCollective
from workloads.collectives.phased import PhasedCollective
from workloads.collectives.ring import RingCollective
from workloads.collectives.schedules import ring_packets
from workloads.collectives.slots import Verbs
from workloads.collectives.staged import StagedCollective
from workloads.config import PHASE_KINDS, CollectiveConfig, WorkerConfig
from workloads.errors import ScenarioError

__all__ = ["create_collective", "message_packets"]


@dataclass(frozen=True, slots=True)
class _Kind:
    create: Callable[[WorkerConfig, Verbs, int, int], Collective]
    packets: Callable[[CollectiveConfig, int, int, int], tuple[int, ...]] | None
    """None: of its phases, each for itself"""


_KINDS: dict[str, _Kind] = {
    "netreduce": _Kind(NetReduceCollective, netreduce_packets),
    "ring": _Kind(RingCollective, ring_packets),
    "shift": _Kind(NetReduceCollective, netreduce_packets),
    "parallel_netreduce": _Kind(PhasedCollective, None),
    "tencent": _Kind(PhasedCollective, None),
    "recursive_doubling": _Kind(PairedCollective, None),
    "rabenseifner": _Kind(PairedCollective, None),
    "staged": _Kind(StagedCollective, None),
}


def create_collective(worker: WorkerConfig, endpoint: Verbs, elements: int, iterations: int) -> Collective:
    """The collective that the worker's configuration names, for gradients of `elements`. Raises ScenarioError when
    there is none of that name, or when it cannot do the arithmetic."""
    return _kind(worker.collective.kind).create(worker, endpoint, elements, iterations)


def message_packets(config: CollectiveConfig, elements: int, iterations: int, path_mtu: int) -> tuple[int, ...]:
    """Packets of each message that the connection from rank `config.rank` to its successor carries in a whole job, in
    order, without retransmissions. Raises ScenarioError when there is no such collective, or when it has phases: each
    of them has connections of its own."""
    packets = ring_packets if config.kind in PHASE_KINDS else _kind(config.kind).packets
    if packets is None:
        raise ScenarioError(f"collective {config.kind} has no connection of its own: ask for its phases'")
    return packets(config, elements, iterations, path_mtu)


def _kind(name: str) -> _Kind:
    found = _KINDS.get(name)
    if found is None:
        names = difflib.get_close_matches(name, _KINDS, 1) + sorted(_KINDS)
        allowed = ", ".join(dict.fromkeys(names))
        raise ScenarioError("unknown collective", key="job.collective", found=name, allowed=allowed)
    return found
