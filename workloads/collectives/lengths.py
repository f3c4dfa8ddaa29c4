"""How many packets each message of a ring connection has, worked out before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.collectives.kinds import KINDS_OF_JOBS, ring_kind
from workloads.collectives.schedules import ring_packets
from workloads.config import ELEMENT_BYTES, PHASE_KINDS, CollectiveConfig
from workloads.errors import ScenarioError

__all__ = ["Piece", "cut_gradient", "message_packets", "netreduce_packets", "require_ring"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One message's part of a gradient."""

    start: int
    """bytes"""
    stop: int
    packets: int


def cut_gradient(elements: int, message_packets: int, path_mtu: int) -> tuple[Piece, ...]:
    """Messages of `message_packets` packets of `path_mtu` bytes, the INA header included; the last as short as it
    is."""
    room, size = message_packets * path_mtu - INA_HEADER_BYTES, elements * ELEMENT_BYTES
    return tuple(
        Piece(start, min(start + room, size), -(-(min(room, size - start) + INA_HEADER_BYTES) // path_mtu))
        for start in range(0, size, room)
    )


def netreduce_packets(config: CollectiveConfig, elements: int, iterations: int, path_mtu: int) -> tuple[int, ...]:
    """Packets of each message of a connection, hello first."""
    pieces = tuple(piece.packets for piece in cut_gradient(elements, config.message_packets, path_mtu))
    return ((1,) if config.hello else ()) + pieces * iterations


def message_packets(config: CollectiveConfig, elements: int, iterations: int, path_mtu: int) -> tuple[int, ...]:
    """Packets of each message that the connection from rank `config.rank` to its successor carries in a whole job, in
    order, without retransmissions. Raises ScenarioError when that is no ring: each phase has connections of its own."""
    if config.kind not in PHASE_KINDS:
        require_ring(config.kind)
    of_kind = netreduce_packets if ring_kind(config.kind).in_messages else ring_packets
    return of_kind(config, elements, iterations, path_mtu)


def require_ring(kind: str) -> None:
    """Raises ScenarioError when it is none."""
    if kind not in KINDS_OF_JOBS:
        raise ScenarioError(
            "no ring is of that kind, and the worker's configuration has no phases", key="job.protocol", found=kind,
            allowed=f"{', '.join(KINDS_OF_JOBS)}; any other with the phases of a plan",
        )  # fmt: skip
