"""Answers under `irn-held` that pass a switch. The switch adds to the map what need not be sent again, and makes no
answer of its own (`docs/irn.md`, "Maps").

Rule 1: a bit is set in two cases. Either this switch has the packet, and what the packet waits for is not complete. Or
this switch sent it on, and the node before, where the answer comes from, may have it. That node cannot yet be known to
lack it, because the packet left later than the newest that came there. Lines keep the order, so that what left before
that one and did not come is lost. Rule 2: the newest PSN that came here takes the place of the other node's. Rule 3: a
bit that is set stays. Rule 4: a map ends with the message of its first packet. At a boundary's receiver it goes up to
the spine that sums that message. Rule 5: a map with a wrong iCRC, or of no message that is known here, passes as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from switch_nodes.netreduce.connections import RingConnections
from switch_nodes.netreduce.frames import FrameReader
from switch_nodes.netreduce.ring import Ring
from workloads.machine import Buffer
from workloads.rc.passing_maps import PassingMap, read_map
from workloads.wire.held_map import NO_PSN, HeldMap

__all__ = ["AnswerMaps", "MappedAnswer"]


class MappedAnswer(NamedTuple):
    frame: bytes
    port: int | None
    """port where it leaves; None: where a plain switch sends it"""


class AnswerMaps:
    """Looks into the connection tables of the installed rings."""

    def __init__(self, reader: FrameReader, tables: Mapping[int, RingConnections]) -> None:
        self._reader, self._tables = reader, tables

    def read(self, frame: Buffer) -> MappedAnswer | None:
        """What becomes of an answer with a map; None when it is no such, or passes as it is."""
        answer = read_map(frame)
        return None if answer is None else self._of_ring(answer)

    def _of_ring(self, answer: PassingMap) -> MappedAnswer | None:
        held, (source, target) = answer.held, answer.addresses
        for edge in self._reader.edges.get((target, source), ()):
            ring, rank, table = edge.ring, edge.rank, self._tables[edge.ring.id]
            found = table.match(rank, held.first) if ring.tells_held else None
            if found is None:
                continue
            message, offset, packets = found
            port = ring.answer_port(rank, message)
            count = min(held.packets, packets - offset)
            limit, bits = _order_of(ring, table, rank, held.newest), held.bits & ((1 << count) - 1)
            for at in range(count):
                bits |= _is_held(ring, rank, message, ring.slot_of(message, offset + at), limit) << at
            newest = int(ring.came[rank, 0 if port is None else port])
            told = HeldMap(held.first, count, bits, newest if newest >= 0 else NO_PSN)
            return MappedAnswer(answer.replaced(told), port)
        return None


def _order_of(ring: Ring, table: RingConnections, rank: int, psn: int) -> int:
    """When that packet was sent on last; -1, which is before all others, when it is not known."""
    found = None if psn == NO_PSN else table.match(rank, psn)
    slot = -1 if found is None else ring.slot_of(found[0], found[1])
    return int(ring.sent_order[slot, rank]) if found is not None and ring.tag[slot] == found[0] else -1


def _is_held(ring: Ring, rank: int, message: int, slot: int, limit: int) -> bool:
    """Rule 1. A message that is gone from here is known to have come everywhere."""
    if ring.tag[slot] != message:
        return int(ring.tag[slot]) > message
    return ring.has(slot, rank) and (not ring.went_on(slot, rank) or int(ring.sent_order[slot, rank]) > limit)
