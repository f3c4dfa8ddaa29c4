"""Connections between every two hosts: of a job that runs over them alone, and of a training next to its protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from testbed.plan.irn import irn_config
from testbed.plan.phases import PhaseRing, phased_workers
from testbed.scenario.model import Scenario
from topologies import Node
from workloads.config import CHANNEL, IrnConfig, MeshTask, WorkerConfig, WorkloadConfig

__all__ = ["FIRST_CHANNEL", "mesh_workers", "meshes", "with_mesh"]

FIRST_CHANNEL = 0x4000
"""id of the ring of two that the first connection is; rings on switches have smaller ones"""


def mesh_workers(
    scenario: Scenario, hosts: Sequence[Node], workloads: Sequence[WorkloadConfig], task: MeshTask, elements: int
) -> tuple[WorkerConfig, ...]:
    """In rank order. `workloads`: of each rank; `task`: what each iteration runs; `elements`: what stands for the load
    of a connection where limits and buffers are estimated."""
    return phased_workers(scenario, hosts, _rings(hosts, elements), workloads, _irn(scenario, hosts), task=task)


def with_mesh(scenario: Scenario, hosts: Sequence[Node], workers: Iterable[WorkerConfig]) -> tuple[WorkerConfig, ...]:
    """The same workers, in rank order, with connections of their own between every two of them. One rank needs none."""
    known = tuple(workers)
    if len(known) < 2:
        return known
    taken = {qp.qpn for worker in known for qp in worker.queue_pairs}
    others = meshes(scenario, hosts, [worker.workload for worker in known], taken)
    return tuple(replace(worker, mesh=other.phases) for worker, other in zip(known, others, strict=True))


def meshes(
    scenario: Scenario, hosts: Sequence[Node], workloads: Sequence[WorkloadConfig], taken: Collection[int] = ()
) -> tuple[WorkerConfig, ...]:
    """Workers, in rank order, that have such connections alone, and whose iterations bring their tasks. `taken`: as
    `phased_workers`."""
    return phased_workers(scenario, hosts, _rings(hosts, 0), workloads, _irn(scenario, hosts), taken=taken)


def _rings(hosts: Sequence[Node], elements: int) -> list[PhaseRing]:
    """Each rank meets the others in the order of their ranks."""
    return [
        PhaseRing(0, f"{one.name}_{other.name}", CHANNEL, number, (one, other), 0, elements)
        for number, (one, other) in enumerate(combinations(hosts, 2), FIRST_CHANNEL)
    ]


def _irn(scenario: Scenario, hosts: Sequence[Node]) -> IrnConfig | None:
    return irn_config(scenario, tuple(combinations(hosts, 2))) if scenario.transport.speaks_irn else None
