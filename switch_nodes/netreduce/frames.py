"""From a frame to what it is for the rings of this switch (`FrameKind`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.tables import FrameKind
from workloads.collectives.ina_header import INA_HEADER_BYTES, InaHeader
from workloads.config import ELEMENT_BYTES
from workloads.machine import Buffer
from workloads.wire import ICRC_BYTES, OPCODES, Bth, OpcodeInfo, Packet, WireError, icrc_of
from workloads.wire.envelope import ETHERNET, decode_envelope
from workloads.wire.packet import decode_transport
from workloads.wire.trimming import TRIMMED_DSCP, trimmed_icrc

__all__ = ["DataPacket", "Edge", "FrameReader", "elements_at", "elements_fit"]

_RC_OPCODES = range(0x20)


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
    packet: Packet
    payload_at: int
    """byte of the frame where the payload begins"""
    edges: tuple[Edge, ...]
    """rings that have this edge, never empty"""

    @property
    def info(self) -> OpcodeInfo:
        return self.packet.info

    @property
    def starts(self) -> bool:
        """It is the first of its message, if the connection uses IRN."""
        return self.packet.starts

    @property
    def qpn(self) -> int:
        return self.packet.bth.dest_qpn

    @property
    def psn(self) -> int:
        return self.packet.bth.psn

    def ina_header(self) -> InaHeader | None:
        """The header at the begin of a message; None when there is none that says "aggregate"."""
        try:
            header = InaHeader.decode(self.packet.payload)
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
        try:
            found = decode_envelope(frame)
            bth = None if found is None else Bth.decode(memoryview(frame)[: found[2]], found[1])
        except WireError:
            return FrameKind.OTHER, (), None
        if found is None or bth is None:
            return FrameKind.OTHER, (), None
        envelope, at, end = found
        info = OPCODES.get(bth.opcode)
        if info is None or not info.is_request or bth.opcode not in _RC_OPCODES:
            return FrameKind.NOT_DATA, (), None
        edges = self.edges.get((envelope.src_ip, envelope.dst_ip), ())
        if not edges:
            return FrameKind.FOREIGN, (), None
        edges_here = tuple(edge for edge in edges if edge.ring.accepts(edge.rank, port))
        if not edges_here:
            return FrameKind.WRONG_PORT, edges, None
        view = memoryview(frame)
        covered, found_icrc = view[ETHERNET.size : end - ICRC_BYTES], bytes(view[end - ICRC_BYTES : end])
        if found_icrc != icrc_of(covered):
            cut = envelope.tos >> 2 == TRIMMED_DSCP and found_icrc == trimmed_icrc(covered)
            return FrameKind.TRIMMED if cut else FrameKind.BAD_ICRC, edges_here, None
        try:
            packet = decode_transport(frame, envelope, bth, at, end)
        except WireError:
            return FrameKind.MALFORMED, edges_here, None
        payload_at = end - ICRC_BYTES - bth.pad - len(packet.payload)
        return FrameKind.DATA, edges_here, DataPacket(frame, port, packet, payload_at, edges_here)


def elements_at(payload_at: int, offset: int) -> int:
    """Where the elements of a packet begin: the INA header of the first packet never enters the adder."""
    return payload_at + (INA_HEADER_BYTES if offset == 0 else 0)


def elements_fit(size: int, ring: Ring) -> bool:
    """Whether `size` bytes of elements are whole elements and have room in the buffers."""
    return size <= ring.mtu and size % ELEMENT_BYTES == 0
