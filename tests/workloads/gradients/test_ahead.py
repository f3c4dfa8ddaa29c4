"""Gradients that are there before the traffic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workloads.config import WorkloadConfig
from workloads.gradients import create_source
from workloads.gradients.ahead import DrawnAhead


@pytest.mark.parametrize("kind", ["synthetic", "extreme", "special"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_same_gradients_in_any_order(kind, dtype):
    plain = WorkloadConfig(kind, 5, 600, 4)
    ahead = replace(plain, drawn_ahead=2)
    ours, theirs = create_source(ahead, 1, 4, dtype), create_source(plain, 1, 4, dtype)
    assert isinstance(ours, DrawnAhead)
    assert (ours.elements, ours.iterations, ours.dtype) == (theirs.elements, theirs.iterations, theirs.dtype)
    for iteration in (0, 1, 2, 3, 1, 0):
        assert ours.gradient(iteration).tobytes() == theirs.gradient(iteration).tobytes()


class Counting:
    elements, iterations = 3, 4

    def __init__(self):
        self.source = create_source(WorkloadConfig("synthetic", 5, 3, 4), 0, 2)
        self.dtype, self.drawn = self.source.dtype, []

    def gradient(self, iteration):
        self.drawn.append(iteration)
        return self.source.gradient(iteration)


def test_those_ahead_are_drawn_once_and_the_others_when_they_are_wanted():
    source = Counting()
    ahead = DrawnAhead(source, 2)
    assert source.drawn == [1, 2]
    for iteration in (0, 1, 2, 3):
        ahead.gradient(iteration)
    assert source.drawn == [1, 2, 0, 3]
