"""When results leave: in PSN order on every connection, and past a hole only where the hole provokes a NAK (rule A).

The head is the oldest position that is not complete. A slot that completes at the head leaves on all connections, and
so do the complete ones right behind it. A slot that completes past the head leaves early on some connections: those
whose own contribution is missing at the head. Their receivers must see the gap, and the others must not (measured on
unmodified endpoints; `docs/netreduce.md`). When the head comes to a new hole, the same holds for what waits behind it.

Under IRN results leave as they are complete: whatever comes is kept. All receivers then see a gap that only one host
can fill, and each of their senders repeats one packet for it. That costs less than lines that stand still for a round
trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from switch_nodes.netreduce.ring import Cursor, Ring

__all__ = ["RELEASE_POLICIES", "bits", "release_completed"]

Send = Callable[[int, int], None]
"""send(rank of the connection, slot): one result leaves"""


Early = Callable[[Ring, int], int]
"""early(ring, message): connections, as a bitmap, on which a slot of that message past the head leaves early"""


def _where_missing(ring: Ring, message: int) -> int:
    return ring.early(message)


def _everywhere(ring: Ring, message: int) -> int:
    return ring.everyone


RELEASE_POLICIES: dict[str, Early] = {"order": _where_missing, "asap": _everywhere}
"""policies by name in `SwitchConfig.release`"""


def bits(bitmap: int) -> Iterator[int]:
    """Numbers of the ones, ascending."""
    while bitmap:
        low = bitmap & -bitmap
        yield low.bit_length() - 1
        bitmap ^= low


def release_completed(ring: Ring, message: int, offset: int, early: Early, send: Send) -> None:
    """(message, offset) has just completed: send what may leave now."""
    if ring.is_irn:
        early = _everywhere
    if (message, offset) != ring.head():
        ring.cursor[Cursor.WAITING] += 1
        _release(ring, ring.slot_of(message, offset), early(ring, message), send)
        return
    _advance(ring, send)
    if ring.cursor[Cursor.WAITING]:
        for later, _, slot in ring.done_behind_head():
            _release(ring, slot, early(ring, later), send)


def _advance(ring: Ring, send: Send) -> None:
    message, offset = ring.head()
    passed = 0
    while True:
        slot = ring.slot_of(message, offset)
        if not ring.done[slot] or ring.tag[slot] != message:
            break
        _release(ring, slot, ring.everyone, send)
        passed += 1
        offset += 1
        if offset >= ring.packets_of(message):
            message, offset = message + 1, 0
    ring.cursor[Cursor.HEAD_MESSAGE], ring.cursor[Cursor.HEAD_OFFSET] = message, offset
    ring.cursor[Cursor.WAITING] -= passed - 1


def _release(ring: Ring, slot: int, mask: int, send: Send) -> None:
    todo = mask & ~int(ring.released[slot])
    ring.released[slot] = int(ring.released[slot]) | todo
    for rank in bits(todo):
        send(rank, slot)
