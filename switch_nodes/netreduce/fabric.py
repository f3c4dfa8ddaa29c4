"""Rings over two tiers of switches: what a leaf and a spine keep (`docs/netreduce.md`, "Two levels").

A leaf sums the packets of its rack and sends the sum up in the packet of the boundary connection. That connection runs
from its rack's last host to the next rack's first. The root spine of a message sums the racks' packets and sends each
on with the global value, towards the rack behind. A leaf takes the value from there, and sends it out on the
connections of its rack.
"""

from __future__ import annotations

import struct
import zlib

from switch_nodes.config import LeafLinks, RingConfig, SpineLinks, SwitchConfig
from switch_nodes.netreduce.connections import RingConnections
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.rows import rows_of
from switch_nodes.netreduce.tables import LEAF_SLOT_TABLE, RingSlotEvent, RingSlotState
from workloads.machine import Buffer
from workloads.rc.transport import RELIABLE

__all__ = ["FabricTable", "LeafRing", "SpineRing", "root_of"]

_after, _distance = RELIABLE.after, RELIABLE.distance

_NAME = struct.Struct(">HI")


def root_of(ring_id: int, message_id: int, spines: int) -> int:
    """The spine that sums a message: CRC-32 of ring and message, 6 bytes, big-endian; every leaf has the same."""
    return zlib.crc32(_NAME.pack(ring_id, message_id & 0xFFFFFFFF)) % spines


class LeafRing(Ring):
    """Members 0 .. H-1 are the hosts of this rack. Connections 0 .. H-2 run between them. Packets of connection H-1,
    the boundary, come from the last host and go up. Packets of connection H, the boundary of the rack before, come down
    and go to host 0. Results leave on connections 0 .. H-2 and H, so that bit H-1 of `released` stands for connection
    H.

    `partial` uint8 (S, mtu): the sum of the rack. `value` is the global one."""

    slot_table = LEAF_SLOT_TABLE

    def __init__(self, config: RingConfig, switch: SwitchConfig) -> None:
        super().__init__(config, switch)
        self.partial = rows_of((self.slots, self.mtu))

    def _shape(self, config: RingConfig) -> None:
        links = config.links
        assert isinstance(links, LeafLinks)
        self.group, self.uplinks = links.group, links.uplinks
        self.boundary, self.inbound = self.size - 1, self.size
        self.connections = self.size + 1
        self.ranks = [*self.ranks, links.predecessor.rank]
        ips = [member.ip for member in config.members]
        self.edges = list(zip([*ips, links.predecessor.ip], [*ips[1:], links.successor_ip, ips[0]], strict=True))

    def accepts(self, rank: int, port: int) -> bool:
        return port in self.uplinks if rank == self.inbound else super().accepts(rank, port)

    def early(self, number: int) -> int:
        """Local connections whose packet is missing at the head. When the rack has all of its own packets there, two
        causes remain: the missing packet is one of the rack before, or its result was lost on its way down. Only host 0
        can find out, so host 0 sees the gap. It sees none if another spine sends this message than the head's, since
        that spine may just have been faster."""
        head, offset = self.head()
        missing = self.missing(head, offset)
        if missing:
            return missing & ~(1 << self.boundary)
        return 1 << self.boundary if self.uplink_of(number) == self.uplink_of(head) else 0

    def slot_state(self, slot: int) -> RingSlotState:
        state = super().slot_state(slot)
        return RingSlotState.PARTIAL if state is RingSlotState.OPEN and self._is_full(slot) else state

    def slot_event(self, slot: int, rank: int, elements: Buffer) -> RingSlotEvent:
        if rank == self.inbound:
            if not self.done[slot]:
                return RingSlotEvent.RESULT
            answered = int(self.released[slot]) >> self.boundary & 1
            return RingSlotEvent.RESULT_REPEAT_ANSWERED if answered else RingSlotEvent.RESULT_REPEAT
        if rank == self.boundary and self._is_full(slot):
            return (
                RingSlotEvent.REPEAT_BOUNDARY if self._is_same(slot, rank, elements) else RingSlotEvent.REPEAT_CHANGED
            )
        return super().slot_event(slot, rank, elements)

    def _is_full(self, slot: int) -> bool:
        return int(self.bitmap[slot]) == self.everyone

    def header_row(self, rank: int) -> int:
        return self.inbound if rank == self.boundary else rank

    def uplink_of(self, number: int) -> int:
        """Port to the root of a message."""
        return self.uplinks[root_of(self.id, number, len(self.uplinks))]

    def has(self, slot: int, rank: int) -> bool:
        return bool(self.done[slot]) if rank == self.inbound else super().has(slot, rank)

    def went_on(self, slot: int, rank: int) -> bool:
        return self._is_full(slot) if rank == self.boundary else super().went_on(slot, rank)

    def answer_port(self, rank: int, number: int) -> int | None:
        """From the boundary's receiver to the spine that sums the message."""
        return self.uplink_of(number) if rank == self.inbound else None

    @property
    def most_port(self) -> int:
        return max(self.uplinks)

    def note_came(self, rank: int, port: int, psn: int) -> None:
        if self.tells_held:
            self.came[rank, port if rank == self.inbound else 0] = psn

    def raw_exit(self, rank: int, number: int) -> int | None:
        return self.uplink_of(number) if rank == self.boundary else None


class SpineRing(Ring):
    """Members are the boundary connections of the racks, in rack order. A spine numbers its messages itself: it gets
    only those whose root it is, and counts 0, 1, 2, ...

    Window and slots count in these numbers. That is safe. When the spine's message n completes, every host has received
    what came N messages before it in the ring. So every host also has what came N messages before it here."""

    def _shape(self, config: RingConfig) -> None:
        links = config.links
        assert isinstance(links, SpineLinks)
        self.group, self._number, self._spines = links.group, links.number, links.spines
        self.edges = list(zip([member.ip for member in config.members], links.successor_ips, strict=True))
        self._mine: list[int] = []
        """message ids by number, as far as they were asked for"""
        self._numbers: dict[int, int] = {}
        self._looked_at = 0

    def number_of(self, message_id: int) -> int | None:
        if root_of(self.id, message_id, self._spines) != self._number:
            return None
        newest = self._mine[-1] if self._mine else -1
        if message_id > newest + self._far:
            return None
        while self._looked_at <= message_id:
            self._look()
        return self._numbers[message_id]

    def message_id(self, number: int) -> int:
        while len(self._mine) <= number:
            self._look()
        return self._mine[number]

    def is_next(self, number: int) -> bool:
        return self.message_id(number + 1) == self.message_id(number) + 1

    @property
    def _far(self) -> int:
        """No honest sender is further ahead than this; a damaged or hostile header could be by 2^32."""
        return 64 * self.banks * self._spines

    def _look(self) -> None:
        if root_of(self.id, self._looked_at, self._spines) == self._number:
            self._numbers[self._looked_at] = len(self._mine)
            self._mine.append(self._looked_at)
        self._looked_at += 1

    def early(self, number: int) -> int:
        """When the packet of a rack r is missing at the head, the rack's leaf must see the gap (connection r-1 leads
        there). The leaf shows it to the host that lacks the packet. The leaf behind (connection r) must see it too, in
        case the boundary's own packet was lost."""
        missing = super().early(number)
        return missing | missing >> 1 | (missing & 1) << (self.size - 1)


class FabricTable(RingConnections):
    """Where messages of one connection come by several ways, the newest known one says little about what follows it.
    All connections carry messages of the same lengths (rule I), so that one connection can be compared with another."""

    def infer(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        ring = self.ring
        if ring.plain_from[rank] >= 0:
            return None
        own = [m for m in ring.entry_message[rank].tolist() if m >= 0]
        for other in range(ring.connections):
            if other == rank or ring.plain_from[other] >= 0:
                continue
            for message in own:
                here, there = self._entry(rank, message), self._entry(other, message)
                if here is None or there is None:
                    continue
                found = self.match(other, _after(there[0], _distance(psn, here[0])))
                if found is not None and ring.packets_of(found[0]) == found[2]:
                    return found
                break  # it lacks the same FIRST
        return None
