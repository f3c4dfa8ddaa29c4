"""Dice that play words of a tape."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from testbed.hunt.runner import Prey
from testbed.hunt.tape import Genome, TapeDice, draw_value


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


def test_a_value_is_drawn_as_by_other_dice_and_afresh_for_a_child() -> None:
    weights = {"a": 1, "b": 1, "c": 1}
    assert [draw_value(Random(seed), weights) for seed in range(9)] == [
        Random(seed).choices(list(weights), list(weights.values()))[0] for seed in range(9)
    ]
    words = Genome("t").played(20)
    fresh = [TapeDice(Genome(f"u{number}", words)) for number in range(30)]
    children = [TapeDice(Genome(f"u{number}", words, parent=0)) for number in range(30)]
    assert len({draw_value(dice, weights) for dice in fresh}) == 1
    assert {draw_value(dice, weights) for dice in children} == set(weights)
    assert {dice.used for dice in (*fresh, *children)} == {1}
    assert len({dice.random() for dice in children}) == 1, "what comes next is the parent's"


def test_a_child_computes_other_values_and_sends_the_packets_of_its_parent() -> None:
    prey = Prey(1, 8)
    parent = TapeDice(Genome("t"))
    known = prey.drawn(parent, 0).scenario
    words, seen = Genome("t").played(parent.used), set[tuple[str, str, str]]()
    for number in range(1, 20):
        genome = Genome(f"u{number}", words, parent=0)
        drawn = prey.drawn(TapeDice(genome), number).scenario
        assert drawn == prey.drawn(TapeDice(genome), number).scenario
        job = drawn.job
        seen.add((job.dtype, job.op, job.workload))
        assert replace(job, dtype=known.job.dtype, op=known.job.op, workload=known.job.workload) == known.job
        assert drawn.topology == known.topology
    assert len(seen) > 3
