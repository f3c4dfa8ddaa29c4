"""What a guided hunt learns."""

from __future__ import annotations

from random import Random

import pytest

from testbed.hunt.corpus import COMMON, Corpus, Met
from testbed.hunt.mutation import GENERATION, generations, next_genome
from testbed.hunt.tape import Genome


def met(*behaviours: str, used: int = 3, cost: int = 10) -> Met:
    return Met(used, cost, behaviours)


def learnt(*generations: list[tuple[Genome, Met]]) -> Corpus:
    corpus, first = Corpus(), 0
    for generation in generations:
        corpus.learn(first, generation)
        first += len(generation)
    return corpus


FRESH = Genome("t")


def test_the_first_that_meets_something_is_kept_with_its_words() -> None:
    corpus = learnt([(FRESH, met("a")), (FRESH, met("a")), (FRESH, met("a", "b", used=5))])
    assert [(entry.number, entry.new) for entry in corpus.entries] == [(0, ("a",)), (2, ("b",))]
    assert corpus.entries[1].words == FRESH.played(5)
    assert corpus.first == {"a": 0, "b": 2}
    assert corpus.curve == [(3, 2)]


def test_only_fresh_schedules_count_for_estimates() -> None:
    child = Genome("u", (1, 2, 3), parent=0)
    corpus = learnt([(FRESH, met("a"))], [(child, met("a", "b")), (child, met("b"))])
    assert (corpus.schedules, corpus.fresh) == (3, 1)
    assert corpus.hits == {"a": 2, "b": 2}
    assert corpus.fresh_hits == {"a": 1}
    assert corpus.entries[0].chosen == 2


def test_a_schedule_is_alone_until_another_meets_the_same() -> None:
    assert learnt([(FRESH, met("a", "b"))]).alone == 1
    assert learnt([(FRESH, met("a", "b")), (FRESH, met("a"))]).alone == 1
    assert learnt([(FRESH, met("a", "b")), (FRESH, met("a")), (FRESH, met("b", "c"))]).alone == 1
    assert learnt([(FRESH, met("a")), (FRESH, met("a"))]).alone == 0


def test_rare_unused_and_short_schedules_have_more_energy() -> None:
    corpus = learnt([(FRESH, met("rare")), *[(FRESH, met("often"))] * 9])
    rare, often = corpus.entries
    assert corpus.energy(rare) == pytest.approx(9 * corpus.energy(often))
    before = corpus.energy(rare)
    rare.chosen = 1
    assert corpus.energy(rare) == pytest.approx(before / 2)
    rare.chosen, rare.cost = 0, 1000
    assert corpus.energy(rare) < before / 2


def test_what_has_energy_is_chosen_in_proportion() -> None:
    corpus = learnt([(FRESH, met("rare")), *[(FRESH, met("often"))] * 9])
    dice = Random(1)
    chosen = [corpus.choose(dice) for _ in range(1000)]
    share = sum(entry is corpus.entries[0] for entry in chosen) / 1000
    assert 0.9 - 5 * 0.0095 < share < 0.9 + 5 * 0.0095
    assert Corpus().choose(dice) is None


def test_common_behaviours_are_not_counted_any_more() -> None:
    corpus = learnt([(FRESH, met("a"))] * COMMON)
    assert corpus.without_common(met("b", "a", "c")).behaviours == ("b", "c")
    assert learnt([(FRESH, met("a"))] * (COMMON - 1)).without_common(met("b", "a")).behaviours == ("a", "b")


def test_every_other_schedule_is_fresh_and_all_are_before_something_was_learnt() -> None:
    assert all(next_genome(Corpus(), "h 1", number).parent is None for number in range(GENERATION))
    corpus = learnt([(FRESH, met("a", used=20))])
    parents = [next_genome(corpus, "h 1", number).parent for number in range(10)]
    assert parents == [None, 0] * 5


def test_children_keep_words_of_their_parents() -> None:
    corpus = learnt([(FRESH, met("a", used=20)), (Genome("v"), met("b", used=30))])
    words = {entry.number: entry.words for entry in corpus.entries}
    kept = []
    for number in range(1, 401, 2):
        genome = next_genome(corpus, "h 1", number)
        assert genome == next_genome(corpus, "h 1", number)
        assert genome.parent is not None
        parent = words[genome.parent]
        same = sum(a == b for a, b in zip(genome.words, parent, strict=False))
        kept.append((len(genome.words) - len(parent), same - len(genome.words)))
    forks = [shorter for shorter, changed in kept if shorter < 0 and not changed]
    changes = [changed for longer, changed in kept if not longer and changed]
    crosses = [longer for longer, changed in kept if changed < -4]
    assert len(forks) > 60
    assert len(changes) > 50
    assert crosses
    assert next_genome(corpus, "h 1", 1) != next_genome(corpus, "h 2", 1)


def test_generations_grow_and_hold_every_schedule_once() -> None:
    each = list(generations(100))
    assert [len(numbers) for numbers in each] == [8, 8, 16, 32, 32, 4]
    assert [number for numbers in each for number in numbers] == list(range(100))
    assert max(map(len, generations(1000))) == GENERATION
