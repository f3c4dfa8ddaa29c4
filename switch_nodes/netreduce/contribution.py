"""A data packet of a ring, and the place of its elements."""

from __future__ import annotations

from switch_nodes.netreduce.frames import DataPacket
from switch_nodes.netreduce.placement import PacketPlace

__all__ = ["RingContribution"]


class RingContribution:
    """A data packet and its place."""

    __slots__ = ("elements", "header", "message", "offset", "packet", "rank", "ring")

    def __init__(self, packet: DataPacket, place: PacketPlace, elements_from: int) -> None:
        self.packet, self.ring, self.rank = packet, place.edge.ring, place.edge.rank
        self.message, self.offset = place.message, place.offset
        end = packet.payload_at + len(packet.data.payload)
        view = memoryview(packet.frame)
        self.header, self.elements = view[:elements_from], view[elements_from:end]
