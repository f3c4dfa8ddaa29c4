"""From planned names to true ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workloads.config import QpConfig, WorkerConfig

__all__ = ["VerbsNames", "planned_names", "true_config", "true_configs"]


@dataclass(frozen=True, slots=True)
class VerbsNames:
    """What a device chose for one worker, and peers and switch must know."""

    send_qpn: int
    """QPN of the queue pair to the successor"""
    recv_qpn: int
    """QPN of the queue pair from the predecessor"""
    base_va: int = 0
    """start address of the receive ring; 0 with verb send"""
    rkey: int = 0


def planned_names(worker: WorkerConfig) -> VerbsNames:
    """Names of an endpoint that takes its numbers from its configuration, as `RcEndpoint` does."""
    own = worker.collective
    return VerbsNames(worker.to_successor.qpn, worker.from_predecessor.qpn, own.base_va, own.rkey)


def true_config(worker: WorkerConfig, own: VerbsNames, successor: VerbsNames, predecessor: VerbsNames) -> WorkerConfig:
    """One worker's configuration with true names."""

    def qp(planned: QpConfig, mine: int, peer: int) -> QpConfig:
        return replace(planned, qpn=mine, peer_qpn=peer)

    return replace(
        worker,
        to_successor=qp(worker.to_successor, own.send_qpn, successor.recv_qpn),
        from_predecessor=qp(worker.from_predecessor, own.recv_qpn, predecessor.send_qpn),
        collective=replace(
            worker.collective,
            base_va=own.base_va,
            rkey=own.rkey,
            peer_base_va=successor.base_va,
            peer_rkey=successor.rkey,
        ),
    )


def true_configs(workers: Sequence[WorkerConfig], names: Mapping[int, VerbsNames]) -> tuple[WorkerConfig, ...]:
    """The configurations of a ring, in rank order, with the names that devices chose. A rank that is not in `names`
    keeps its planned ones."""
    known = [names.get(rank) or planned_names(worker) for rank, worker in enumerate(workers)]
    size = len(workers)
    return tuple(
        true_config(worker, known[rank], known[(rank + 1) % size], known[rank - 1])
        for rank, worker in enumerate(workers)
    )
