"""Dice that play words of a tape."""

from __future__ import annotations

from random import Random

from testbed.hunt.runner import Prey
from testbed.hunt.tape import Genome, TapeDice


def drawn(dice: Random) -> list[object]:
    return [
        dice.random(), dice.randrange(10), dice.choice("abc"), dice.choices("abc", [1, 2, 3]), dice.sample(range(9), 4),
        dice.randint(1, 7), dice.getrandbits(62), dice.getrandbits(200),
    ]  # fmt: skip


def test_the_same_genome_draws_the_same() -> None:
    assert drawn(TapeDice(Genome("t"))) == drawn(TapeDice(Genome("t")))
    assert drawn(TapeDice(Genome("t"))) != drawn(TapeDice(Genome("u")))


def test_words_that_were_played_draw_the_same_whatever_comes_behind() -> None:
    dice = TapeDice(Genome("t"))
    first = drawn(dice)
    words = Genome("t").played(dice.used)
    assert len(words) == dice.used > 10
    assert drawn(TapeDice(Genome("other", words))) == first


def test_played_goes_on_with_the_tail_and_stops_where_asked() -> None:
    genome = Genome("t", (1, 2, 3))
    assert genome.played(2) == (1, 2)
    assert genome.played(5)[:3] == (1, 2, 3)
    assert genome.played(5)[3:] == Genome("t").played(2)


def test_numbers_are_spread_over_their_range() -> None:
    dice = TapeDice(Genome("spread"))
    counts = [0] * 8
    for _ in range(8000):
        counts[dice.randrange(8)] += 1
    assert all(abs(count - 1000) < 5 * 30 for count in counts)  # 5 sigma
    assert all(0 <= dice.random() < 1 for _ in range(1000))
    assert dice.getrandbits(200) >> 200 == 0


def test_the_second_word_is_the_seed_of_the_run_and_changes_nothing_else() -> None:
    prey = Prey(1, 8, program="switchml", kind="switchml")
    dice = TapeDice(Genome("t"))
    one = prey.drawn(dice, 0).scenario
    words = list(Genome("t").played(dice.used))
    words[1] ^= 1 << 40
    other = prey.drawn(TapeDice(Genome("t", tuple(words))), 0).scenario
    assert one.seed != other.seed
    assert (one.faults, one.jobs, one.topology) == (other.faults, other.jobs, other.topology)
    assert one.trace
