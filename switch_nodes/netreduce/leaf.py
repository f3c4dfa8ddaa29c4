"""What a packet is to a leaf, beyond what it is to a rack's only switch: events of `LEAF_SLOT_TABLE`."""

from __future__ import annotations

from switch_nodes.netreduce.contribution import Contribution
from switch_nodes.netreduce.fabric import LeafRing
from switch_nodes.netreduce.tables import SlotEvent

__all__ = ["leaf_event"]


def leaf_event(c: Contribution, ring: LeafRing, slot: int) -> SlotEvent | None:
    """What a packet of the slot's message that fits it is to a leaf; None: what it is to a rack's only switch."""
    if c.rank == ring.inbound:
        if not ring.done[slot]:
            return SlotEvent.RESULT
        answered = int(ring.released[slot]) >> ring.boundary & 1
        return SlotEvent.RESULT_REPEAT_ANSWERED if answered else SlotEvent.RESULT_REPEAT
    if c.rank == ring.boundary and int(ring.bitmap[slot]) == ring.everyone:
        same = bytes(c.elements) == ring.payload[slot, c.rank, : len(c.elements)].tobytes()
        return SlotEvent.REPEAT_BOUNDARY if same else SlotEvent.REPEAT_CHANGED
    return None
