"""Draws of whole sites at once."""

from __future__ import annotations

from collections import Counter

import numpy as np

from topologies import LinkShape, spine_leaf
from topologies.routing.gradients import Problem
from topologies.routing.gradients.choices import blind_choices
from topologies.routing.gradients.network import network_of
from topologies.routing.gradients.rounding import RateRounding


def _rounding(*, even: bool) -> RateRounding:
    """12 workers, of 2 sites; options: two switches and the server."""
    topology = spine_leaf([6, 7], 2, LinkShape(rate_bps=1_000_000_000))
    problem = Problem.of(topology, ("h13",), {"leaf1": 6e9, "leaf2": 6e9})
    choices = blind_choices(network_of(problem), 1e9)
    shares = [np.array([0.5, 0.5, 0.0])] * 6 + [np.array([0.25, 0.5, 0.25])] * 6
    return RateRounding(choices, shares, 1e9, np.random.default_rng(1), even=even)


def test_even_draws_give_each_option_its_share_of_every_site() -> None:
    rounding, seen = _rounding(even=True), Counter[int]()
    for _ in range(400):
        first, second = (Counter(part) for part in np.array_split(rounding.draw(), 2))
        assert first == {0: 3, 1: 3}
        assert abs(second[0] - 1.5) < 1
        assert abs(second[1] - 3) < 1
        seen += second
    # Over many draws, each worker has its shares as probabilities.
    assert abs(seen[0] / 2400 - 0.25) < 0.03
    assert abs(seen[1] / 2400 - 0.5) < 0.03


def test_other_draws_are_each_workers_own() -> None:
    rounding = _rounding(even=False)
    assert len({Counter(rounding.draw()[:6])[0] for _ in range(100)}) > 3
