"""From a frame to what it is for the rings of this switch (`FrameKind`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import cython

from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.tables import FrameKind
from workloads.collectives.ina_header import INA_HEADER_BYTES, InaHeader
from workloads.config import ELEMENT_BYTES
from workloads.machine import Buffer
from workloads.rc.passing import Wholeness
from workloads.wire.layout import WireError

if not cython.compiled:
    from workloads.rc.passing import PassingData, read_passing

__all__ = ["DataPacket", "Edge", "FrameReader", "elements_at", "elements_fit"]

_DAMAGE = {Wholeness.TRIMMED: FrameKind.TRIMMED, Wholeness.DAMAGED: FrameKind.BAD_ICRC}
_WHOLE, _OTHER, _NOT_DATA = Wholeness.WHOLE, FrameKind.OTHER, FrameKind.NOT_DATA
_FOREIGN, _DATA = FrameKind.FOREIGN, FrameKind.DATA


@dataclass(frozen=True, slots=True)
class Edge:
    """Connection `rank` of `ring`."""

    ring: Ring
    rank: int


class DataPacket:
    """A SEND or WRITE packet from a ring member to its successor."""

    __slots__ = ("data", "edges", "frame", "payload_at", "port", "psn", "qpn")

    def __init__(self, frame: Buffer, port: int, data: PassingData, edges: tuple[Edge, ...]) -> None:
        self.frame, self.port, self.data = frame, port, data
        self.edges = edges
        """rings that have this edge, never empty"""
        self.qpn, self.psn = data.qpn, data.psn
        self.payload_at = data.payload_at
        """byte of the frame where the payload begins"""

    def ina_header(self) -> InaHeader | None:
        """The header at the begin of a message; None when there is none that says "aggregate"."""
        try:
            header = InaHeader.decode(self.data.payload)
        except WireError:
            return None
        return header if header.agg else None


class FrameReader:
    """Knows the edges of all installed rings."""

    def __init__(self, rings: Iterable[Ring]) -> None:
        self.edges: dict[tuple[bytes, bytes], tuple[Edge, ...]] = {}
        for ring in rings:
            for rank, addresses in enumerate(ring.edges):
                self.edges[addresses] = (*self.edges.get(addresses, ()), Edge(ring, rank))

    def read(self, port: int, frame: Buffer) -> tuple[FrameKind, tuple[Edge, ...], DataPacket | None]:
        """(kind, edges with these addresses, the packet when the kind is DATA). Never raises."""
        return _read(self.edges, port, frame)


def _read(
    known: dict[tuple[bytes, bytes], tuple[Edge, ...]], port: int, frame: Buffer
) -> tuple[FrameKind, tuple[Edge, ...], DataPacket | None]:
    found = read_passing(frame)
    if found is None:
        return _OTHER, (), None
    if not found.is_data:
        return _NOT_DATA, (), None
    edges = known.get(found.addresses, ())
    if not edges:
        return _FOREIGN, (), None
    here = [edge for edge in edges if edge.ring.accepts(edge.rank, port)]
    if not here:
        return FrameKind.WRONG_PORT, edges, None
    edges = edges if len(here) == len(edges) else tuple(here)
    wholeness = found.wholeness()
    if wholeness is not _WHOLE:
        return _DAMAGE[wholeness], edges, None
    data = found.data()
    if data is None:
        return FrameKind.MALFORMED, edges, None
    return _DATA, edges, DataPacket(frame, port, data, edges)


def elements_at(payload_at: int, offset: int) -> int:
    """Where the elements of a packet begin: the INA header of the first packet never enters the adder."""
    return payload_at + (INA_HEADER_BYTES if offset == 0 else 0)


def elements_fit(size: int, ring: Ring) -> bool:
    """Whether `size` bytes of elements are whole elements and have room in the buffers."""
    return size <= ring.mtu and size % ELEMENT_BYTES == 0
