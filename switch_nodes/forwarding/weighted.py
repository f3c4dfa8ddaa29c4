"""Classes that share a link by weight, in the manner of ETS (IEEE 802.1Qaz): deficit round robin by bytes
(M. Shreedhar and G. Varghese, SIGCOMM 1995).

Rule 1: strict classes go first, in their order.
Rule 2: the others take turns. A turn adds the quantum of the class to its deficit. The class sends while the deficit
covers its next frame, and each frame is taken off.
Rule 3: the largest weight has a quantum of one longest frame, others in proportion. So after each turn a class has sent
what its turns allow, less than one longest frame short of it.
Rule 4: a class that has no frame, or may not begin one, loses its deficit and its turn.

802.1Qaz leaves the algorithm open; quanta of at most one frame are decided here. They keep turns short.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

__all__ = ["STRICT", "DeficitRound", "WeightedQueue"]

_Item = TypeVar("_Item")
STRICT = 0
"""weight of a class that goes before those with weights"""


class DeficitRound:
    """`weights`: by class, `STRICT` or 1 and more. `longest`: bytes of the longest frame."""

    def __init__(self, weights: Sequence[int], longest: int) -> None:
        self._strict = tuple(number for number, weight in enumerate(weights) if weight == STRICT)
        self._weighted = tuple(number for number, weight in enumerate(weights) if weight != STRICT)
        self._unit = max(weights, default=1) or 1
        """deficits count in bytes x the largest weight, so that all stay whole"""
        self._quanta = tuple(weight * longest for weight in weights)
        self._deficits = [0] * len(weights)
        self._place, self._is_given = 0, False
        """place of the class that has its turn, and whether it has the quantum of this turn"""

    def choose(self, heads: Sequence[int]) -> int:
        """Class of the next frame; -1: there is none. `heads`: bytes of the first frame of each class, 0 where none may
        begin. The class that is chosen has to send that frame."""
        for number in self._strict:
            if heads[number]:
                return number
        if not self._drop_idle(heads):
            return -1
        passed = 0
        while True:
            number = self._weighted[self._place]
            if heads[number]:
                if not self._is_given:
                    self._deficits[number] += self._quanta[number]
                    self._is_given = True
                cost = heads[number] * self._unit
                if cost <= self._deficits[number]:
                    self._deficits[number] -= cost
                    return number
            self._place, self._is_given = (self._place + 1) % len(self._weighted), False
            passed += 1
            if passed == len(self._weighted):
                self._skip(heads)

    def _drop_idle(self, heads: Sequence[int]) -> bool:
        """Whether any class with a weight has a frame."""
        is_any = False
        for place, number in enumerate(self._weighted):
            if heads[number]:
                is_any = True
            else:
                self._deficits[number] = 0
                if place == self._place:
                    self._is_given = False
        return is_any

    def _skip(self, heads: Sequence[int]) -> None:
        """No deficit covered a frame: give at once the rounds in which none would."""
        rounds = min(
            -(-(heads[number] * self._unit - self._deficits[number]) // self._quanta[number])
            for number in self._weighted
            if heads[number]
        )
        for number in self._weighted:
            if heads[number]:
                self._deficits[number] += (rounds - 1) * self._quanta[number]


class WeightedQueue(Generic[_Item]):
    """What waits for a port, by class. `longest`: bytes of the longest frame."""

    def __init__(self, weights: Sequence[int], longest: int) -> None:
        self._round = DeficitRound(weights, longest)
        self._classes = tuple(deque[tuple[_Item, int]]() for _ in weights)
        self._heads = [0] * len(weights)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def waiting_in(self, number: int) -> int:
        """Frames that wait in a class."""
        return len(self._classes[number])

    def put(self, item: _Item, number: int, size: int) -> None:
        """`size`: bytes."""
        if not self._classes[number]:
            self._heads[number] = size
        self._classes[number].append((item, size))
        self._count += 1

    def take(self) -> _Item:
        """The next one to leave. Raises IndexError when nothing waits."""
        number = self._round.choose(self._heads)
        if number < 0:
            raise IndexError("nothing waits")
        waiting = self._classes[number]
        item, _ = waiting.popleft()
        self._heads[number] = waiting[0][1] if waiting else 0
        self._count -= 1
        return item
