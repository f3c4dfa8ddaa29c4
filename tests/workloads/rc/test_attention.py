"""What an endpoint knows without looking at each of its queue pairs: the same as if it did."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from workloads.rc.attention import Attention, members


@dataclass
class Pair:
    """Counts how often it is looked at."""

    has_answer: bool = False
    has_request: bool = False
    until: int | None = None
    looks: int = field(default=0)

    @property
    def deadline(self) -> int | None:
        self.looks += 1
        return self.until


def watched(count: int) -> tuple[Attention, list[Pair], list[int]]:
    attention, pairs = Attention(), [Pair() for _ in range(count)]
    return attention, pairs, [attention.add(pair) for pair in pairs]


@pytest.mark.parametrize("bitmap", [0, 1, 0b1010, 1 << 248 | 1])
def test_members_are_the_bits(bitmap: int) -> None:
    assert list(members(bitmap)) == [bit for bit in range(250) if bitmap >> bit & 1]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [1, 3, 70])
def test_it_knows_what_a_look_at_all_would_show(seed: int, count: int) -> None:
    draw = random.Random(seed)
    attention, pairs, bits = watched(count)
    for now in range(300):
        for number in draw.sample(range(count), draw.randint(0, min(count, 3))):
            pair = pairs[number]
            pair.has_answer, pair.has_request = draw.random() < 0.3, draw.random() < 0.3
            pair.until = draw.choice([None, now, now + draw.randint(1, 40), pair.until])
            attention.touch(bits[number])
        assert list(members(attention.answering)) == [n for n, pair in enumerate(pairs) if pair.has_answer]
        first = draw.randint(0, count)
        cyclic = [*range(first, count), *range(first)]
        assert list(attention.requesting_from(first)) == [n for n in cyclic if pairs[n].has_request]
        deadlines = [pair.until for pair in pairs if pair.until is not None]
        assert attention.first_deadline == min(deadlines, default=None)
        if draw.random() < 0.5:
            due = attention.due(now)
            assert due == [n for n, pair in enumerate(pairs) if pair.until is not None and pair.until <= now]
            for number in due:
                pairs[number].until = draw.choice([None, now + 3, now + 30])
                attention.touch(bits[number])


def test_what_is_due_and_does_nothing_stays_due() -> None:
    attention, pairs, bits = watched(2)
    pairs[1].until = 5
    attention.touch(bits[1])
    assert attention.due(4) == []
    assert attention.due(5) == [1]
    assert attention.first_deadline == 5


def test_it_looks_only_at_those_that_were_touched() -> None:
    attention, pairs, bits = watched(500)
    for pair in pairs:
        pair.until = 10_000
    assert attention.first_deadline == 10_000
    for pair in pairs:
        pair.looks = 0
    for now in range(1_000):
        attention.touch(bits[7])
        pairs[7].until = now + 10
        assert attention.first_deadline == now + 10
        assert not attention.answering
        assert attention.due(now) == []
    assert sum(pair.looks for pair in pairs) == pairs[7].looks == 1_000


def test_compiled_code_has_its_own_account() -> None:
    attention, _, bits = watched(3)
    assert attention.stale == 0b111
    attention.stale = 0
    assert not attention.answering
    attention.touch(bits[1])
    assert not attention.answering
    assert attention.stale == 0b010
