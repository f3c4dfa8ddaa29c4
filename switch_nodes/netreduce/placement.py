"""From a data packet to its connection, its message and its offset: the events of `CONNECTION_TABLE`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from switch_nodes.netreduce.connections import RingConnections
from switch_nodes.netreduce.frames import DataPacket, Edge
from switch_nodes.netreduce.tables import ConnectionEvent, ConnectionState
from workloads.collectives.ina_header import InaHeader
from workloads.rc.transport import RELIABLE

__all__ = ["PacketPlace", "Placement"]

_after = RELIABLE.after

_MAX_PLAIN = 4096
"""connections without INA header that are remembered; the oldest goes first"""


class PacketPlace(NamedTuple):
    edge: Edge
    state: ConnectionState
    event: ConnectionEvent
    message: int = -1
    """-1: unknown"""
    offset: int = -1
    packets: int = 0
    """packets of the message"""


class Placement:
    """Knows the connection tables of all rings, and which connections on their edges are not theirs."""

    def __init__(self, tables: Mapping[int, RingConnections]) -> None:
        self.tables = tables
        self._plain: dict[tuple[bytes, bytes, int], None] = {}

    def place(self, packet: DataPacket) -> PacketPlace:
        edge, state = self._connection(packet)
        if packet.data.starts or (packet.data.may_start and not edge.ring.is_irn):
            return self._start(packet, edge, state)
        if state is not ConnectionState.RING:
            return PacketPlace(edge, state, ConnectionEvent.ELSEWHERE)
        if edge.ring.is_irn:
            return self._named(packet, edge)
        table, rank, psn = self.tables[edge.ring.id], edge.rank, packet.psn
        event, found = ConnectionEvent.IN_MESSAGE, table.match(rank, psn)
        if found is None:
            if table.in_plain(rank, psn):
                return PacketPlace(edge, state, ConnectionEvent.IN_PLAIN)
            event, found = ConnectionEvent.NEXT_MESSAGE, table.infer(rank, psn)
        if found is None:
            return PacketPlace(edge, state, ConnectionEvent.ELSEWHERE)
        message, offset, packets = found
        if offset == 0 or packet.data.ends != (offset == packets - 1):
            event = ConnectionEvent.MISPLACED
        return PacketPlace(edge, state, event, message, offset, packets)

    def note_plain(self, packet: DataPacket) -> None:
        """A FIRST or ONLY without INA header passed on this connection."""
        self._plain[packet.data.connection] = None
        if len(self._plain) > _MAX_PLAIN:
            del self._plain[next(iter(self._plain))]

    def _start(self, packet: DataPacket, edge: Edge, state: ConnectionState) -> PacketPlace:
        header = packet.ina_header()
        named = None if header is None else _edge_of(packet, header)
        if header is None or named is None:
            if state is not ConnectionState.RING:
                return PacketPlace(edge, state, ConnectionEvent.START_PLAIN)
            table = self.tables[edge.ring.id]
            if table.match(edge.rank, packet.psn) is not None:  # its sender said before that this is INA data
                return PacketPlace(edge, state, ConnectionEvent.START_BAD)
            table.start_plain(edge.rank, packet.psn)
            return PacketPlace(edge, state, ConnectionEvent.START_PLAIN)
        ring, packets = named.ring, header.msg_len_pkts
        number = ring.number_of(header.msg_id)
        good = (
            number is not None
            and (header.op, header.dtype) == (ring.op, ring.dtype)
            and 1 <= packets <= ring.message_packets
            and packet.data.ends == (packets == 1)
            and (not ring.is_irn or _named_by(packet, named) == (header.msg_id, 0, packets))
            and self.tables[ring.id].agrees(named.rank, packet.qpn, number, packet.psn, packets)
        )
        event = ConnectionEvent.START_INA if good else ConnectionEvent.START_BAD
        return PacketPlace(named, state, event, -1 if number is None else number, 0, packets)

    def _named(self, packet: DataPacket, edge: Edge) -> PacketPlace:
        """A later packet of a message under IRN: its RETH names message, place and length. The first one that comes of
        a message stands for a FIRST that is missing."""
        ring, state, named = edge.ring, ConnectionState.RING, _named_by(packet, edge)
        if named is None:
            return PacketPlace(edge, state, ConnectionEvent.MISPLACED)
        message, offset, packets = named
        number, table = ring.number_of(message), self.tables[ring.id]
        first = _after(packet.psn, -offset)
        good = (
            number is not None
            and 0 < offset < packets <= ring.message_packets
            and packet.data.has_immediate == (offset == packets - 1)
            and table.agrees(edge.rank, packet.qpn, number, first, packets)
        )
        if not good or number is None:
            return PacketPlace(
                edge, state, ConnectionEvent.MISPLACED, -1 if number is None else number, offset, packets
            )
        known = table.has(edge.rank, number)
        event = ConnectionEvent.IN_MESSAGE if known else ConnectionEvent.NEXT_MESSAGE
        return PacketPlace(edge, state, event, number, offset, packets)

    def _connection(self, packet: DataPacket) -> tuple[Edge, ConnectionState]:
        for edge in packet.edges:
            if self.tables[edge.ring.id].is_known(edge.rank, packet.qpn):
                return edge, ConnectionState.RING
        known = packet.data.connection in self._plain
        return packet.edges[0], ConnectionState.PLAIN if known else ConnectionState.UNKNOWN


def _edge_of(packet: DataPacket, header: InaHeader) -> Edge | None:
    """The edge that an INA header names, when the packet runs on it."""
    for edge in packet.edges:
        if (edge.ring.id, edge.ring.ranks[edge.rank], edge.ring.group) == (header.ring_id, header.rank, header.size):
            return edge
    return None


def _named_by(packet: DataPacket, edge: Edge) -> tuple[int, int, int] | None:
    """(message id, offset, packets of the message) as the RETH of a packet under IRN says; None when it says no such
    thing."""
    target = packet.data.target
    if target is None:
        return None
    place = edge.ring.place_of(edge.rank, target[0])
    return None if place is None else (*place, max(1, -(-target[1] // edge.ring.mtu)))
