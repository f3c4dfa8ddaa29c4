"""From planned names to true ones, for a whole ring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workloads.config import QpConfig, WorkerConfig

__all__ = ["VerbsNames", "true_configs"]


@dataclass(frozen=True, slots=True)
class VerbsNames:
    """What a device chose for one worker, and peers and switch must know."""

    send_qpn: int
    """of the queue pair to the successor"""
    recv_qpn: int
    """of the queue pair from the predecessor"""
    base_va: int = 0
    """where the receive ring begins; 0 with verb send"""
    rkey: int = 0


def true_configs(workers: Sequence[WorkerConfig], names: Mapping[int, VerbsNames]) -> tuple[WorkerConfig, ...]:
    """The configurations of a ring, in rank order, with the names that devices chose. A rank that is not in `names` takes
    its numbers from its configuration (`RcEndpoint`) and keeps them."""
    known = {
        rank: names.get(rank)
        or VerbsNames(
            worker.to_successor.qpn, worker.from_predecessor.qpn, worker.collective.base_va, worker.collective.rkey
        )
        for rank, worker in enumerate(workers)
    }

    def true(rank: int, worker: WorkerConfig) -> WorkerConfig:
        own, successor, predecessor = (
            known[rank],
            known[(rank + 1) % len(workers)],
            known[rank - 1 if rank else len(workers) - 1],
        )

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

    return tuple(true(rank, worker) for rank, worker in enumerate(workers))
