"""Which slot of a switch of program `grid` is a block's, and the blocks that go around the slots."""

from __future__ import annotations

from collections import OrderedDict

import cython

if not cython.compiled:
    from workloads.datagrams.slots import mix

__all__ = ["MemoryRefused", "slot_index"]

_MOST_REFUSED = 1 << 16


def slot_index(job: int, sequence: int, slots: int) -> int:
    """By a hash, so that neighbours do not meet."""
    return mix(job << 32 | sequence) % slots


class MemoryRefused:
    """Workers that have gone around so far, for blocks whose first packet found no tokens. What is forgotten first is
    the oldest. A subclass may override its methods."""

    def __init__(self, most: int = _MOST_REFUSED) -> None:
        self._most = most
        self._gone: OrderedDict[int, int] = OrderedDict()

    def has(self, block: int) -> bool:
        return block in self._gone

    def add(self, block: int) -> None:
        if len(self._gone) >= self._most:
            self._gone.popitem(last=False)
        self._gone[block] = 0

    def pass_by(self, block: int, bitmap: int, expected: int) -> None:
        """One more went around; after the last one the block is forgotten."""
        if not self.has(block):
            return
        bitmap |= self._gone[block]
        if bitmap & expected == expected:
            del self._gone[block]
        else:
            self._gone[block] = bitmap

    def forget(self, block: int) -> None:
        self._gone.pop(block, None)
