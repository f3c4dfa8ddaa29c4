"""Where the next schedule of a guided hunt comes from: fresh dice, or a changed schedule of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from testbed.hunt.corpus import Corpus
from testbed.hunt.tape import Genome

__all__ = ["GENERATION", "generations", "next_genome"]

GENERATION = 32
"""schedules between two updates of the corpus, at most"""
_FIRST_GENERATION = 8
"""few, since half of the planted bugs are found within some ten schedules"""
_FRESH_EVERY = 2
"""every other schedule is fresh: random search goes on, and the estimates of the unseen need it"""
_WORD = 64
_WAYS = {"fork": 45, "change": 30, "seed": 15, "cross": 10}
_MOST_CHANGED = 4
_SEED_WORD = 1
"""place of the word that becomes the seed of the run (`Prey.drawn`)"""


def generations(schedules: int) -> Iterator[range]:
    """Numbers of the schedules between two updates of the corpus. Generations grow: each is as large as all before it
    together, up to `GENERATION`."""
    begin, size = 0, _FIRST_GENERATION
    while begin < schedules:
        yield range(begin, min(begin + size, schedules))
        begin += size
        size = min(GENERATION, begin)


def next_genome(corpus: Corpus, label: str, number: int) -> Genome:
    """Of schedule `number`. It depends on these arguments alone. `label`: names the hunt and its seed.

    fork: the schedule begins as before and goes on with other dice. change: a few numbers of it are drawn again, so
    that a fault, a time or a size becomes another. seed: the same schedule loses other packets. cross: it begins as one
    schedule and goes on with the dice of another.
    """
    dice, tail = Random(f"choose {label} {number}"), f"tail {label} {number}"
    if number % _FRESH_EVERY == 0 or (entry := corpus.choose(dice)) is None:
        return Genome(tail)
    words = list(entry.words)
    way = dice.choices(list(_WAYS), list(_WAYS.values()))[0]
    if way == "fork":
        words = words[: max(dice.randrange(len(words)), dice.randrange(len(words)))]  # faults are drawn last
    elif way == "change":
        for _ in range(dice.randint(1, _MOST_CHANGED)):
            words[dice.randrange(len(words))] = dice.getrandbits(_WORD)
    elif way == "seed":
        words[_SEED_WORD] = dice.getrandbits(_WORD)
    elif (other := corpus.choose(dice)) is not None:
        place = dice.randrange(len(words))
        words = [*words[:place], *other.words[place:]]
    return Genome(tail, tuple(words), entry.number)
