"""Sets of the workers of a job: bitmaps of any width inside, and what of them an aggregation header can name.

In a job of at most 32 workers `bitmap0` has bit r for rank r. A larger job names its workers in two levels, as the two
bitmaps of ATP's header do. `bitmap1` has the racks with all workers inside. `bitmap0` has some workers of one more
rack, by their place in it. `node` is the number of that rack, from 1. All sets that switches of a tree make can be
named so: each adds the whole sums of what is below it, and workers at its own ports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["MAX_RACKS", "WIDTH", "WorkerSets", "ranks_in"]

WIDTH = 32
"""bits of `bitmap0`: workers of a job of one level, or of a rack"""
MAX_RACKS = 32
"""bits of `bitmap1`"""


def ranks_in(bitmap: int) -> Iterator[int]:
    """Ascending."""
    while bitmap:
        lowest = bitmap & -bitmap
        yield lowest.bit_length() - 1
        bitmap ^= lowest


class WorkerSets:
    """The worker sets of one job. `racks`: its ranks, by the switch that they are at."""

    def __init__(self, size: int, racks: Sequence[Sequence[int]]) -> None:
        self.everybody = (1 << size) - 1
        self.bits = [1 << rank for rank in range(size)]
        """bitmap of each rank alone"""
        self.is_wide = size > WIDTH
        self.rack_masks = tuple(sum(1 << rank for rank in rack) for rack in racks)
        self.all_racks = (1 << len(racks)) - 1
        self.names_of_all = (0, self.all_racks, 0) if self.is_wide else (self.everybody, 0, 0)
        """`named` of everybody"""
        self._racks = [[1 << rank for rank in rack] for rack in racks]

    def meant(self, bitmap0: int, bitmap1: int, node: int) -> int:
        """The set that a header names; -1: it names none of this job."""
        if not self.is_wide:
            return bitmap0
        if not node:
            if bitmap0 or bitmap1 & ~self.all_racks:
                return -1
            return self.everybody if bitmap1 == self.all_racks else self._of_racks(bitmap1)
        if node > len(self._racks) or (bitmap1 | 1 << node - 1) & ~self.all_racks or bitmap1 >> node - 1 & 1:
            return -1
        rack = self._racks[node - 1]
        if bitmap0 >> len(rack):
            return -1
        return self._of_racks(bitmap1) | sum(rack[place] for place in ranks_in(bitmap0))

    def named(self, bitmap: int) -> tuple[int, int, int] | None:
        """(bitmap0, bitmap1, node) of a set; None: parts of several racks are in it, which no header names."""
        if not self.is_wide:
            return bitmap, 0, 0
        if bitmap == self.everybody:
            return self.names_of_all
        bitmap0 = bitmap1 = node = 0
        for number, mask in enumerate(self.rack_masks):
            inside = bitmap & mask
            if inside == mask:
                bitmap1 |= 1 << number
            elif inside and node:
                return None
            elif inside:
                node = number + 1
                bitmap0 = sum(1 << place for place, bit in enumerate(self._racks[number]) if inside & bit)
        return bitmap0, bitmap1, node

    def _of_racks(self, bitmap1: int) -> int:
        return sum(self.rack_masks[number] for number in ranks_in(bitmap1))
