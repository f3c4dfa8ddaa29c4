"""What a guided hunt has learnt: which behaviours were met how often, and the schedules that were first to meet one.

It learns after each generation, in the order of schedules, so that its state does not depend on the number of
processes. Nothing here runs a schedule.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random

from testbed.hunt.tape import Genome

__all__ = ["COMMON", "Corpus", "KeptSchedule", "Met"]

COMMON = 64
"""fresh schedules after which a behaviour counts as common: it is not counted any more"""


@dataclass(frozen=True, slots=True)
class Met:
    """One schedule that was run."""

    used: int
    """words from which it was drawn"""
    cost: int
    """records of its history"""
    behaviours: tuple[str, ...]
    """those that were not yet common when its generation began"""


@dataclass(slots=True)
class KeptSchedule:
    """A schedule that was first to meet a behaviour."""

    number: int
    words: tuple[int, ...]
    new: tuple[str, ...]
    """behaviours that it was first to meet"""
    cost: int
    chosen: int = 0
    """schedules that were made from it"""


class Corpus:
    def __init__(self) -> None:
        self.entries: list[KeptSchedule] = []
        self.hits, self.fresh_hits = Counter[str](), Counter[str]()
        """behaviour -> schedules, of all and of the fresh ones; up to `COMMON` fresh ones"""
        self.first: dict[str, int] = {}
        """behaviour -> number of the schedule that met it first"""
        self.schedules, self.fresh = 0, 0
        self.curve: list[tuple[int, int]] = []
        """(schedules, behaviours met by then), after each generation"""
        self._once: dict[str, int] = {}
        """behaviour that one fresh schedule met -> its number"""
        self._weights: list[float] = []
        """sums of the energies of `entries` up to each"""
        self._by_number: dict[int, KeptSchedule] = {}

    @property
    def alone(self) -> int:
        """Fresh schedules that met a behaviour which no other fresh one met."""
        return len(set(self._once.values()))

    def without_common(self, met: Met) -> Met:
        """Without the behaviours that are common by now; the others sorted."""
        kept = (name for name in met.behaviours if self.fresh_hits[name] < COMMON)
        return replace(met, behaviours=tuple(sorted(kept)))

    def choose(self, dice: Random) -> KeptSchedule | None:
        """An entry, by energy; None: there is none yet."""
        if not self._weights:
            return None
        place = bisect(self._weights, dice.random() * self._weights[-1])
        return self.entries[min(place, len(self.entries) - 1)]

    def learn(self, first: int, ran: Sequence[tuple[Genome, Met]]) -> None:
        """One generation, whose schedules have the numbers from `first` on."""
        for number, (genome, met) in enumerate(ran, first):
            self._learn(number, genome, met)
        self.curve.append((self.schedules, len(self.first)))
        self._weights = list(accumulate(self.energy(entry) for entry in self.entries))

    def energy(self, entry: KeptSchedule) -> float:
        """How much a mutation of an entry promises. Behaviours that few schedules meet weigh most. An entry that was
        chosen often, or takes long, gets less."""
        rare = sum(1 / self.hits[name] for name in entry.new)
        return rare / (1 + entry.chosen) / (_LEAST_COST + entry.cost)

    def _learn(self, number: int, genome: Genome, met: Met) -> None:
        self.schedules += 1
        self.hits.update(met.behaviours)
        if genome.parent is None:
            self.fresh += 1
            self.fresh_hits.update(met.behaviours)
            for name in met.behaviours:
                if self.fresh_hits[name] == 1:
                    self._once[name] = number
                else:
                    self._once.pop(name, None)
        elif (parent := self._by_number.get(genome.parent)) is not None:
            parent.chosen += 1
        new = tuple(name for name in met.behaviours if name not in self.first)
        if new:
            self.first.update(dict.fromkeys(new, number))
            entry = KeptSchedule(number, genome.played(met.used), new, met.cost)
            self.entries.append(entry)
            self._by_number[number] = entry


_LEAST_COST = 100
"""records: what a schedule costs in any case"""
