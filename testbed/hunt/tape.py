"""Dice that play words of a tape first, and then draw their own. A changed tape is a changed schedule.

A guided hunt keeps the words from which a schedule was drawn. It plays a part of them again and lets other dice draw
the rest. Every schedule is drawn by the code that draws random ones, so the bounds of `survival` hold for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeVar

__all__ = ["Genome", "TapeDice", "draw_value"]

T = TypeVar("T")

_WORD = 64


@dataclass(frozen=True, slots=True)
class Genome:
    """What a schedule is drawn from."""

    tail: str
    """seed of the words behind `words`"""
    words: tuple[int, ...] = ()
    """first words, of 64 bits each"""
    parent: int | None = None
    """number of the schedule that the words come from; None: a fresh schedule"""

    def played(self, count: int) -> tuple[int, ...]:
        """The first `count` words that dice of this genome play."""
        missing = max(0, count - len(self.words))
        tail = Random(self.tail)
        return (self.words + tuple(tail.getrandbits(_WORD) for _ in range(missing)))[:count]


class TapeDice(Random):
    """`choice`, `randrange`, `sample` and the others of `Random` are made of the two methods here."""

    def __init__(self, genome: Genome) -> None:
        super().__init__(0)
        self._words, self._tail = genome.words, Random(genome.tail)
        self._free = None if genome.parent is None else Random(f"{genome.tail} free")
        self.used = 0
        """words played so far"""

    def random(self) -> float:
        return (self._word() >> 11) * 2.0**-53

    def getrandbits(self, k: int, /) -> int:
        """The upper bits of a word: where a changed word meets another range, it stands for the same share of it."""
        if k <= _WORD:
            return self._word() >> (_WORD - k)
        return self._word() << (k - _WORD) | self.getrandbits(k - _WORD)

    def choose_freely(self, weights: Mapping[T, int]) -> T:
        """One of `weights`, which a mutated schedule does not take over from its parent. Plays as many words as
        `choices`."""
        mine = self.choices(list(weights), list(weights.values()))
        return (mine if self._free is None else self._free.choices(list(weights), list(weights.values())))[0]

    def _word(self) -> int:
        self.used += 1
        return self._words[self.used - 1] if self.used <= len(self._words) else self._tail.getrandbits(_WORD)


def draw_value(draw: Random, weights: Mapping[T, int]) -> T:
    """One of `weights`, which decides what a job computes, and not which packets it sends. What a guided hunt learns
    does not depend on it, so that its mutated schedules draw it again: bugs of arithmetic need other values, whatever
    the packets do."""
    if isinstance(draw, TapeDice):
        return draw.choose_freely(weights)
    return draw.choices(list(weights), list(weights.values()))[0]
