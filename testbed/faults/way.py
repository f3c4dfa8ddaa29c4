"""One direction of a link, as the faults on it know it."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.faults.matching import ConnectionTable
from topologies import Direction
from workloads.datagrams.transport import DATAGRAMS
from workloads.transports import TransportKind

__all__ = ["LinkWay"]


@dataclass(frozen=True)
class LinkWay:
    seed: int
    """of the run"""
    link: str
    direction: Direction
    table: ConnectionTable
    """planned connections"""
    transports: tuple[TransportKind, ...] = (DATAGRAMS,)
    """transports of the jobs, whose frames pass; RoCE is always known"""
