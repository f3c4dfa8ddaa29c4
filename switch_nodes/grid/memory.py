"""Slots of program `grid`, and the blocks that go around them."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from switch_nodes.aggregators.memory import Elements, add_elements, elements_of
from workloads.wire.aggregation import AggregationHeader, Datagram

__all__ = ["GridSlot", "Refused", "slot_index"]

_WIRE = np.dtype(">i4")
_MOST_REFUSED = 1 << 16
_MASK = (1 << 64) - 1


def slot_index(job: int, sequence: int, slots: int) -> int:
    """By the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014), so that neighbours do not meet."""
    word = (job << 32 | sequence) + 0x9E3779B97F4A7C15 & _MASK
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _MASK
    return (word ^ word >> 31) % slots


class GridSlot:
    """Of one block: who is inside, and their sum."""

    __slots__ = ("bitmap", "congested", "entered", "exponents", "header", "opened", "overflow", "values")

    def __init__(self, found: Datagram, workers: int, now: int) -> None:
        """Empty, and owned by the block of `found`."""
        self.header: AggregationHeader = found.header
        self.bitmap = 0
        self.entered = [0] * workers
        """per rank, how often its contribution was added: what is told, and decides nothing"""
        self.values: Elements = np.zeros(0, np.int32)
        self.exponents = (-128, -128)
        self.congested = self.overflow = False
        self.opened = now

    @property
    def owner(self) -> tuple[int, int]:
        return self.header.job, self.header.sequence

    @property
    def block(self) -> int:
        return (self.header.sequence - 1) & 0xFFFFFFFF

    def add(self, found: Datagram, rank: int, *, congested: bool) -> None:
        """Exponents: the largest."""
        header = found.header
        if not self.bitmap:
            self.values = elements_of(found)
        else:
            self.values, overflow = add_elements(self.values, np.frombuffer(found.payload, _WIRE), header.op)
            self.overflow |= overflow
        self.exponents = max(self.exponents[0], header.exponent0), max(self.exponents[1], header.exponent1)
        self.bitmap |= header.bitmap0
        self.entered[rank] += 1
        self.congested |= congested

    @property
    def payload(self) -> bytes:
        return self.values.astype(_WIRE, copy=False).tobytes()


class Refused:
    """Blocks whose first packet found no tokens: who has gone around so far. What is forgotten first is the oldest."""

    def __init__(self, most: int = _MOST_REFUSED) -> None:
        self._most = most
        self._gone: OrderedDict[tuple[int, int], int] = OrderedDict()

    def __contains__(self, block: tuple[int, int]) -> bool:
        return block in self._gone

    def add(self, block: tuple[int, int]) -> None:
        if len(self._gone) >= self._most:
            self._gone.popitem(last=False)
        self._gone[block] = 0

    def pass_by(self, block: tuple[int, int], bitmap: int, expected: int) -> None:
        """One more went around; after the last one the block is forgotten."""
        gone = self._gone.get(block)
        if gone is None:
            return
        if (gone | bitmap) & expected == expected:
            del self._gone[block]
        else:
            self._gone[block] = gone | bitmap

    def forget(self, block: tuple[int, int]) -> None:
        self._gone.pop(block, None)
