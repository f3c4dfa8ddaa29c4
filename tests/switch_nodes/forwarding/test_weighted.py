"""Deficit round robin by weight: shares to within a frame, strict classes first, nothing left idle."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.forwarding.weighted import STRICT, DeficitRound, WeightedQueue

LONGEST = 1500
sizes = st.lists(st.integers(64, LONGEST), min_size=1, max_size=30)
weights = st.integers(1, 100)


@given(st.lists(st.tuples(weights, sizes), min_size=2, max_size=4), st.integers(1, 300))
def test_shares_follow_weights_to_within_a_frame_for_each_class(classes, count):
    """All classes always wait, and send frames of drawn sizes."""
    order = DeficitRound([weight for weight, _ in classes], LONGEST)
    sent, taken = [0] * len(classes), [0] * len(classes)
    for _ in range(count):
        heads = [own[taken[number] % len(own)] for number, (_, own) in enumerate(classes)]
        number = order.choose(heads)
        sent[number] += heads[number]
        taken[number] += 1
        # The rounds of any two classes differ by one at most, and each lags less than a frame behind its rounds.
        rounds = [Fraction(total, weight) for total, (weight, _) in zip(sent, classes, strict=True)]
        unit = Fraction(LONGEST, max(weight for weight, _ in classes))
        for one, (first, _) in zip(rounds, classes, strict=True):
            for other, _ in zip(rounds, classes, strict=True):
                assert one - other <= unit + max(Fraction(LONGEST, weight) for weight, _ in classes), first


@given(weights, weights, sizes, sizes, st.integers(1, 300))
def test_of_two_classes_each_is_within_a_frame_of_its_share(first, second, ones, others, count):
    order, sent, taken = DeficitRound([first, second], LONGEST), [0, 0], [0, 0]
    for _ in range(count):
        heads = [ones[taken[0] % len(ones)], others[taken[1] % len(others)]]
        number = order.choose(heads)
        sent[number] += heads[number]
        taken[number] += 1
        assert abs(sent[0] - Fraction(sum(sent) * first, first + second)) <= LONGEST


@given(
    st.lists(st.one_of(st.just(STRICT), weights), min_size=4, max_size=4),
    st.lists(st.lists(st.one_of(st.just(0), st.integers(64, LONGEST)), min_size=4, max_size=4), max_size=40),
)
def test_a_port_is_idle_only_without_frames_and_strict_classes_go_first(shares, looks):
    order = DeficitRound(shares, LONGEST)
    for heads in looks:
        number = order.choose(heads)
        strict = [each for each in range(4) if shares[each] == STRICT and heads[each]]
        if strict:
            assert number == strict[0]
        elif any(heads):
            assert heads[number] > 0
        else:
            assert number == -1


def test_a_class_that_was_idle_has_saved_nothing():
    order = DeficitRound([1, 1], LONGEST)
    for _ in range(50):
        assert order.choose([LONGEST, 0]) == 0
    chosen = [order.choose([LONGEST, LONGEST]) for _ in range(10)]
    assert sorted(chosen[:2]) == [0, 1]
    assert chosen.count(1) == 5


def test_a_class_that_was_idle_does_not_keep_the_rest_of_a_turn():
    order = DeficitRound([1, 1], LONGEST)
    assert order.choose([800, 0]) == 0
    assert order.choose([0, 800]) == 1
    assert [order.choose([800, 800]) for _ in range(4)] == [0, 1, 1, 0]


def test_a_small_weight_does_not_wait_for_empty_rounds():
    assert DeficitRound([1, 100], LONGEST).choose([LONGEST, 0]) == 0


def test_a_queue_keeps_the_order_of_a_class():
    queue = WeightedQueue[str]([STRICT, 3, 1, 1], 1000)
    for number in (3, 1, 2, 1, 1, 1, 0):
        queue.put(f"{number} {queue.waiting_in(number)}", number, 1000)
    assert len(queue) == 7
    left = [queue.take() for _ in range(7)]
    assert left[0] == "0 0"
    assert [each for each in left if each[0] == "1"] == ["1 0", "1 1", "1 2", "1 3"]
    # In a round of 5 frames, class 1 has 3. Classes of a third of its weight wait for their third turn.
    assert left[1:4] == ["1 0", "1 1", "1 2"]
    with pytest.raises(IndexError):
        queue.take()
