"""The rings of a plan: whose connections lead round, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workloads.collectives.kinds import RingKind, ring_kind
from workloads.config import CollectiveConfig, WorkerConfig

__all__ = ["PlannedRing", "planned_rings"]


@dataclass(frozen=True, slots=True)
class PlannedRing:
    """Connection k goes from member k to member (k+1) mod P."""

    members: tuple[WorkerConfig, ...]
    """rank order: what each worker does on this ring (`WorkerConfig.all_parts`)"""

    @property
    def collective(self) -> CollectiveConfig:
        """Of rank 0."""
        return self.members[0].collective

    @property
    def ring_id(self) -> int:
        return self.collective.ring_id

    @property
    def carries(self) -> RingKind:
        return ring_kind(self.collective.kind)

    @property
    def phase(self) -> str:
        """empty: the plan has but this ring"""
        return self.collective.phase

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.members)

    def requests(self, rank: int) -> tuple[bytes, bytes, int]:
        """(source IP, destination IP, destination QPN) of what connection `rank` carries."""
        qp = self.members[rank].to_successor
        return qp.envelope.src_ip, qp.envelope.dst_ip, qp.peer_qpn

    def answers(self, rank: int) -> tuple[bytes, bytes, int]:
        """The same of what comes back on it."""
        qp = self.members[rank].to_successor
        return qp.envelope.dst_ip, qp.envelope.src_ip, qp.qpn


def planned_rings(workers: Iterable[WorkerConfig]) -> tuple[PlannedRing, ...]:
    """All of them, in the order of their first members."""
    found: dict[int, list[WorkerConfig]] = {}
    for worker in workers:
        for part in worker.all_parts:
            found.setdefault(part.collective.ring_id, []).append(part)
    return tuple(PlannedRing(tuple(sorted(ring, key=lambda part: part.collective.rank))) for ring in found.values())
