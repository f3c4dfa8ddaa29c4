"""How much of a `grid` switch's memory is in use, for how long, and for what: told at the end, decides nothing."""

from __future__ import annotations

__all__ = ["Tally"]


class Tally:
    """Times in ns; slot times are sums over slots."""

    def __init__(self) -> None:
        self._left: dict[int, int] = {}
        """by block, whose contributions have left, alone or in a sum, under the plan that holds"""
        self._before: dict[int, int] = {}
        """the same under plans before, with those that the switch forgot"""
        self._delivered: set[int] = set()
        """blocks whose results have passed"""
        self.occupied = 0
        """slots in use"""
        self._since = self._all_ns = 0
        self.peak = 0
        self.useful_ns = 0
        """from the first to the last contribution of sums that left complete"""
        self.busy_ns = 0
        """until the last packet that was no late copy"""

    def arrive(self, block: int, bitmap: int, now: int) -> None:
        """A packet with contributions of these workers."""
        if not self.is_copy(block, bitmap):
            self.occupy(0, now)
            self.busy_ns = self._all_ns

    def leave(self, block: int, bitmap: int) -> None:
        """These contributions went on."""
        self._left[block] = self._left.get(block, 0) | bitmap

    def deliver(self, block: int) -> None:
        """Everybody gets its sum."""
        self._delivered.add(block)

    def is_copy(self, block: int, bitmap: int) -> bool:
        """Whether nobody needs these contributions: they have left before, or the sum is there."""
        return block in self._delivered or not bitmap & ~self._left.get(block, 0)

    def is_ghost(self, block: int, bitmap: int) -> bool:
        """Whether nobody needs these contributions when the run is over. A switch that no result passes cannot know
        which blocks had theirs under a plan before; what is left of those is a copy, or the job's workers still wait,
        which they tell."""
        left = self._left.get(block, 0) | self._before.get(block, 0)
        return block in self._delivered or not bitmap & ~left

    def forget(self) -> None:
        """What has no result yet is sent again, and meant to be summed here once more."""
        for block, bitmap in self._left.items():
            self._before[block] = self._before.get(block, 0) | bitmap
        self._left.clear()

    def occupy(self, amount: int, now: int) -> None:
        """`amount` more slots are in use (negative: fewer)."""
        self._all_ns += self.occupied * (now - self._since)
        self._since = now
        self.occupied += amount
        self.peak = max(self.peak, self.occupied)
