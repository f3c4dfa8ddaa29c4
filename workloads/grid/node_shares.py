"""Which node a fragment of a worker is for, where a plan splits its gradient over several.

Every packet has a point between 0 and 1, and every worker's nodes share that interval between them in the order of its
shares; the points of a golden-section sequence are spread evenly, so that each node gets its share of every stretch of
packets. All nodes compute the same from the plan: nobody has to be told which packet went where. Workers with equal
shares send the same packets to the same node; where their shares differ, some sums have more workers inside than
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["SERVER", "NodeShare", "ShareTable"]

SERVER = 0
"""node id of the parameter server; switches count from 1"""
_POINTS = 1 << 32
_GOLDEN = 0x9E3779B1
"""odd, next to 2^32 over the golden ratio: consecutive multiples are spread evenly (Knuth, TAOCP 3, 6.4)"""


@dataclass(frozen=True, slots=True)
class NodeShare:
    node: int
    """id of the switch that aggregates, or SERVER"""
    share: float
    """of the worker's packets; those of a worker are taken relative to their sum"""


class ShareTable:
    """`shares`: by rank, each rank's nodes in one order that is the same for all. Raises ValueError for a rank without
    any, and for shares that are not above zero."""

    def __init__(self, shares: Sequence[Sequence[NodeShare]]) -> None:
        self._bounds = [_bounds(each) for each in shares]
        self._whole = all(len(each) == 1 for each in shares)
        self._masks = {part.node: self._mask(part.node, 0) for each in shares for part in each}
        """by node; of packet 0, and so of all where nobody is split"""

    def node_of(self, rank: int, packet: int) -> int:
        bounds = self._bounds[rank]
        if len(bounds) == 1:
            return bounds[0][1]
        point = packet * _GOLDEN % _POINTS
        return next(node for bound, node in bounds if point < bound)

    def expected(self, node: int, packet: int) -> int:
        """Bit r for each rank whose packet that node gets."""
        return self._masks.get(node, 0) if self._whole else self._mask(node, packet)

    def _mask(self, node: int, packet: int) -> int:
        return sum(1 << rank for rank in range(len(self._bounds)) if self.node_of(rank, packet) == node)


def _bounds(shares: Sequence[NodeShare]) -> tuple[tuple[int, int], ...]:
    """(end of its part of the points, node), ascending."""
    if not shares or any(not part.share > 0 for part in shares):
        raise ValueError("every worker has a part, and every part a share above zero")
    whole, before, found = sum(part.share for part in shares), 0.0, []
    for part in shares:
        before += part.share
        found.append((round(before / whole * _POINTS), part.node))
    found[-1] = (_POINTS, found[-1][1])
    return tuple(found)
