"""Virtual time: what happens when, in an order that depends on the seed and on nothing else."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

__all__ = ["Agenda"]

_MASK = (1 << 64) - 1
_GOLDEN, _MIX1, _MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # constants of splitmix64


class Agenda:
    """Appointments in order of time. Equal times: the actors' order is drawn from (seed, time), so that no actor is
    always first; appointments of one actor keep the order in which they were made."""

    def __init__(self, seed: int) -> None:
        self.now = 0
        """ns"""
        self._salt = (seed & _MASK) * _GOLDEN & _MASK
        self._heap: list[tuple[int, int, int, Callable[[Any], None], Any]] = []
        self._made = 0

    def at(self, time: int, actor: int, action: Callable[[Any], None], argument: Any = None) -> None:
        """Call `action(argument)` at `time` ns (not before now)."""
        tie = ((time * _MIX1 ^ (actor + 1) * _MIX2 ^ self._salt) & _MASK) * _GOLDEN & _MASK
        tie = (tie ^ tie >> 29) * _MIX1 & _MASK
        self._made += 1
        heapq.heappush(self._heap, (time, tie, self._made, action, argument))

    def run(self, limit: int, goes_on: Callable[[], object]) -> bool:
        """Keep appointments while `goes_on()`. False when there is none left that is not after `limit`."""
        while goes_on():
            time = self.next_time()
            if time is None or time > limit:
                return False
            self.step()
        return True

    @property
    def reached(self) -> int:
        """ns; also for another thread."""
        return self.now

    def next_time(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def step(self) -> None:
        """Move to the next appointment and keep it. Raises IndexError when there is none."""
        time, _, _, action, argument = heapq.heappop(self._heap)
        self.now = time
        action(argument)
