"""The job of a `grid` switch, how much of the memory is in use, and which contributions are no longer needed. Reported
at the end; decides nothing."""

from __future__ import annotations

from switch_nodes.aggregators.served import ServedJob
from switch_nodes.jobs import JobConfig

__all__ = ["Tally"]


class Tally(ServedJob):
    """Times in ns; slot times are sums over slots."""

    def __init__(self, config: JobConfig) -> None:
        ServedJob.__init__(self, config)
        self._left: dict[int, int] = {}
        """workers whose contributions have left, alone or in a sum, under the plan that holds, by block"""
        self._before: dict[int, int] = {}
        """the same under plans before, with those that the switch forgot"""

    def arrive(self, block: int, bitmap: int, now: int) -> None:
        """A packet with contributions of these workers."""
        if not self.is_copy(block, bitmap):
            self.touch(now)

    def leave(self, block: int, bitmap: int) -> None:
        """These contributions went on."""
        self._left[block] = self._left.get(block, 0) | bitmap

    def deliver(self, block: int, now: int) -> None:
        """All workers get its sum."""
        self.delivered.setdefault(block, now)

    def is_copy(self, block: int, bitmap: int) -> bool:
        """Whether these contributions are no longer needed: they have left before, or the sum is there."""
        return block in self.delivered or not bitmap & ~self._left.get(block, 0)

    def is_ghost(self, block: int, bitmap: int) -> bool:
        """Whether these contributions are not needed when the run is over. A switch that no result passes cannot know
        which blocks had results under an earlier plan. What is left of those is a copy, or the job's workers still wait
        and report it."""
        left = self._left.get(block, 0) | self._before.get(block, 0)
        return block in self.delivered or not bitmap & ~left

    def forget(self) -> None:
        """Blocks without a result are sent again, and are meant to be summed here again."""
        for block, bitmap in self._left.items():
            self._before[block] = self._before.get(block, 0) | bitmap
        self._left.clear()
