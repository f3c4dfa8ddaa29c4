"""What waits in the slots of a ring on one switch: a contribution waits until its connection's result left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from switch_nodes.netreduce.ring import Ring
from switch_nodes.program import SlotWait

__all__ = ["bytes_in_slots", "slot_waits"]

_ICRC_BYTES = 4


def bytes_in_slots(rings: Iterable[Ring]) -> dict[int, int]:
    """Bytes of frames by the port by which they came."""
    found = Counter[int]()
    for ring in rings:
        for rank in range(ring.size):
            waits = (ring.bitmap & ~ring.released) >> np.uint64(rank) & np.uint64(1) != 0
            if waits.any():
                sizes = ring.header_length[waits, rank].astype(np.int64) + ring.length[waits] + _ICRC_BYTES
                found[ring.ingress[rank]] += int(sizes.sum())
    return dict(found)


def slot_waits(rings: Iterable[Ring]) -> list[SlotWait]:
    """Slot by slot. A result that is complete and waits for its turn (release rule A) lacks what the head lacks."""
    return [each for ring in rings for each in _waits_of(ring)]


def _waits_of(ring: Ring) -> Iterator[SlotWait]:
    head = ring.slot_of(*ring.head())
    for slot in np.flatnonzero(ring.bitmap & ~ring.released).tolist():
        held, bitmap = Counter[int](), int(ring.bitmap[slot])
        for rank in range(ring.size):
            if bitmap & ~int(ring.released[slot]) & 1 << rank:
                size = int(ring.header_length[slot, rank]) + int(ring.length[slot]) + _ICRC_BYTES
                held[ring.ingress[rank]] += size
        lacks = int(ring.bitmap[head]) if ring.done[slot] else bitmap
        missing = frozenset(ring.ingress[rank] for rank in range(ring.size) if not lacks >> rank & 1)
        yield SlotWait(dict(held), missing)
