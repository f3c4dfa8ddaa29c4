"""The queue pairs of one worker with an aggregation service, described by a few numbers. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.config import QpConfig
from workloads.wire import Envelope

__all__ = ["UcPairs", "service_qpn"]

_SERVICE = 1 << 22
"""bit in all queue pair numbers of the service: 0 and 1 mean something else in InfiniBand"""


@dataclass(frozen=True, slots=True)
class UcPairs:
    """The queue pairs of one worker with the switch, one for each index of its window. Index i has number `qpn` + i
    here and `service_qpn` + i there. One message at a time is under way on each."""

    qpn: int
    service_qpn: int
    first_psn: int
    """first PSN of all of them, in both directions"""
    va: int
    """start address of the worker's memory"""
    rkey: int
    """key of this memory; even, so that the version has room"""
    path_mtu: int

    def host_qp(self, cell: int, envelope: Envelope) -> QpConfig:
        """The worker's end; `envelope` of what it sends."""
        return self._qp(self.qpn + cell, self.service_qpn + cell, envelope)

    def service_qp(self, cell: int, envelope: Envelope) -> QpConfig:
        """The switch's end; `envelope` of what that sends."""
        return self._qp(self.service_qpn + cell, self.qpn + cell, envelope)

    def _qp(self, qpn: int, peer_qpn: int, envelope: Envelope) -> QpConfig:
        return QpConfig(qpn, peer_qpn, envelope, self.first_psn, self.first_psn, self.path_mtu)


def service_qpn(rank: int, slot: int) -> int:
    """Number of the switch's queue pair for a slot index (of the whole pool, so that jobs have their own) and a
    worker."""
    return _SERVICE | rank << 16 | slot
