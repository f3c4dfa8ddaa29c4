"""Which node a fragment of a worker is for, where a plan splits its gradient over several.

Every packet has a point between 0 and 1. A worker's nodes split that interval in the order of its shares. The points of
a golden-section sequence are spread evenly, so each node gets its share of every stretch of packets. All nodes compute
this from the plan, so they need no messages about which packet went where. Workers with equal shares send the same
packets to the same node; where their shares differ, some sums have more workers inside than others.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import cython

from workloads.grid.config import NodeShare

if not cython.compiled:
    from workloads.kernels import bit_of

__all__ = ["ShareTable"]

_POINTS = 1 << 32
_POINT_BITS = _POINTS - 1
_GOLDEN = 0x9E3779B1
"""odd, next to 2^32 over the golden ratio: consecutive multiples are spread evenly (Knuth, TAOCP 3, 6.4)"""
_NUMBERS = "q"
"""type code of arrays with 64 bits"""


class ShareTable:
    """`shares`: by rank, each rank's nodes in one order that is the same for all. Raises ValueError for a rank without
    any, and for shares that are not above zero. A subclass may override what has no underscore."""

    def __init__(self, shares: Sequence[Sequence[NodeShare]]) -> None:
        bounds = [_bounds(each) for each in shares]
        self._ranks = len(bounds)
        self._first: Any = array(_NUMBERS, accumulate((len(each) for each in bounds), initial=0))
        """begin of the parts of each rank in these two"""
        self._ends: Any = array(_NUMBERS, [end for each in bounds for end, _ in each])
        self._nodes: Any = array(_NUMBERS, [node for each in bounds for _, node in each])
        self._bounds: Any = array(_NUMBERS, sorted({end for each in bounds for end, _ in each}))
        """points where the node of any rank changes"""
        self._whole = all(len(each) == 1 for each in bounds)
        self._masks = {part.node: self._mask(part.node, 0) for each in shares for part in each}
        """bitmaps of ranks for packet 0, by node; the same for all packets when no worker is split"""

    def node_of(self, rank: int, packet: int) -> int:
        at, point = self._first[rank], packet * _GOLDEN & _POINT_BITS
        while point >= self._ends[at]:
            at += 1
        node: int = self._nodes[at]
        return node

    def way_of(self, packet: int) -> int:
        """Number of the packet's way: all packets of one way have the same node as each other, at each rank."""
        point, way = packet * _GOLDEN & _POINT_BITS, 0
        while point >= self._bounds[way]:
            way += 1
        return way

    def expected(self, node: int, packet: int) -> int:
        """Bit r for each rank whose packet that node gets."""
        return self._masks.get(node, 0) if self._whole else self._mask(node, packet)

    def together(self, node: int, packet: int) -> int:
        """How many ranks that are."""
        mask, count = self.expected(node, packet), 0
        while mask:
            mask, count = mask & mask - 1, count + 1
        return count

    def _mask(self, node: int, packet: int) -> int:
        mask = 0
        for rank in range(self._ranks):
            if self.node_of(rank, packet) == node:
                mask |= bit_of(rank)
        return mask


def _bounds(shares: Sequence[NodeShare]) -> tuple[tuple[int, int], ...]:
    """(end of its part of the points, node), ascending."""
    if not shares or any(not part.share > 0 for part in shares):
        raise ValueError("every worker has a part, and every part a share above zero")
    whole, before, found = sum(part.share for part in shares), 0.0, []
    for part in shares[:-1]:
        before += part.share
        found.append((round(before / whole * _POINTS), part.node))
    return *found, (_POINTS, shares[len(shares) - 1].node)
