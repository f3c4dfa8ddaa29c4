"""Which aggregator of the switch a packet asks for: a table of W entries per job, filled by a hash (protocol text,
3.1).

Packet k of a job (from 0) uses entry k mod W. The table has no collisions inside the job as long as the switch has W
indices. With fewer indices, every index serves as many entries as another, or one more. All workers of a job and its
parameter server draw the same table from (job, salt) and move the same entries. So they need no messages about it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from itertools import chain
from typing import Any

__all__ = ["SlotTable", "mix"]

_MASK = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class SlotTable:
    """Indices 0 .. `memory` - 1 for `window` entries."""

    def __init__(self, job: int, window: int, memory: int, salt: int) -> None:
        self._memory, self._salt = memory, mix((salt ^ job << 32) & _MASK)
        self._most = -(-window // memory)
        """entries that may share an index"""
        self._uses: Counter[int] = Counter()
        self._moves = [0] * window
        slots = array("q")
        for entry in range(window):
            slot = self._draw(entry, -1)
            slots.append(slot)
            self._uses[slot] += 1
        self._slots: Any = slots

    def __getitem__(self, entry: int) -> int:
        return self.slot_of(entry)

    def slot_of(self, entry: int) -> int:
        slot: int = self._slots[entry]
        return slot

    def move(self, entry: int, slot: int) -> None:
        """From now on `entry` uses `slot`."""
        self._uses[self._slots[entry]] -= 1
        self._slots[entry] = slot
        self._uses[slot] += 1

    def propose(self, entry: int) -> int:
        """Another index for an entry that met a foreign job in its own; the same where no other is free."""
        self._moves[entry] += 1
        return self._draw(entry, self._slots[entry])

    def _draw(self, entry: int, current: int) -> int:
        """The first index, from a hash on, that has room and is not `current`."""
        start = mix(self._salt ^ entry << 20 ^ self._moves[entry]) % self._memory
        for slot in chain(range(start, self._memory), range(start)):
            if slot != current and self._uses[slot] < self._most:
                return slot
        return current


def mix(word: int) -> int:
    """The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    word = (word + _GOLDEN) & _MASK
    word = ((word ^ word >> 30) * _FIRST) & _MASK
    word = ((word ^ word >> 27) * _SECOND) & _MASK
    return word ^ word >> 31
