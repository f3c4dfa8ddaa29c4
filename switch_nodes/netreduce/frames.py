"""From a frame to what it is for the rings of this switch (`FrameKind`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.tables import FrameKind
from workloads.collectives.ina_header import INA_HEADER_BYTES, InaHeader
from workloads.config import ELEMENT_BYTES
from workloads.machine import Buffer
from workloads.rc.passing import PassingData, Wholeness, read_passing
from workloads.wire.layout import WireError

__all__ = ["DataPacket", "Edge", "FrameReader", "elements_at", "elements_fit"]

_DAMAGE = {Wholeness.TRIMMED: FrameKind.TRIMMED, Wholeness.DAMAGED: FrameKind.BAD_ICRC}


@dataclass(frozen=True, slots=True)
class Edge:
    """Connection `rank` of `ring`."""

    ring: Ring
    rank: int


@dataclass(frozen=True, slots=True)
class DataPacket:
    """A SEND or WRITE packet from a ring member to its successor."""

    frame: Buffer
    port: int
    data: PassingData
    edges: tuple[Edge, ...]
    """rings that have this edge, never empty"""

    @property
    def qpn(self) -> int:
        return self.data.qpn

    @property
    def psn(self) -> int:
        return self.data.psn

    @property
    def payload_at(self) -> int:
        """Byte of the frame where the payload begins."""
        return self.data.payload_at

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
        found = read_passing(frame)
        if found is None:
            return FrameKind.OTHER, (), None
        if not found.is_data:
            return FrameKind.NOT_DATA, (), None
        edges = self.edges.get(found.addresses, ())
        if not edges:
            return FrameKind.FOREIGN, (), None
        edges_here = tuple(edge for edge in edges if edge.ring.accepts(edge.rank, port))
        if not edges_here:
            return FrameKind.WRONG_PORT, edges, None
        damage = _DAMAGE.get(found.wholeness())
        if damage is not None:
            return damage, edges_here, None
        data = found.data()
        if data is None:
            return FrameKind.MALFORMED, edges_here, None
        return FrameKind.DATA, edges_here, DataPacket(frame, port, data, edges_here)


def elements_at(payload_at: int, offset: int) -> int:
    """Where the elements of a packet begin: the INA header of the first packet never enters the adder."""
    return payload_at + (INA_HEADER_BYTES if offset == 0 else 0)


def elements_fit(size: int, ring: Ring) -> bool:
    """Whether `size` bytes of elements are whole elements and have room in the buffers."""
    return size <= ring.mtu and size % ELEMENT_BYTES == 0
