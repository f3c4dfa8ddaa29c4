from __future__ import annotations

import numpy as np
import pytest

from testbed.bench.gridplans import random_problem
from topologies import LinkShape, grid_triangle, spine_leaf
from topologies.routing.gradients import Problem, grid, make_plan
from topologies.routing.gradients.network import network_of
from topologies.routing.gradients.whole import most_whole_bps, worthwhile

_G = 1_000_000_000


def test_a_server_takes_as_many_streams_as_switches_are_open() -> None:
    problem = Problem.of(grid_triangle(LinkShape(rate_bps=3 * _G), LinkShape(rate_bps=9 * _G)), ("ps",), 9.0 * _G)
    # Three switches, 9 / 3 each; 27 for 8 workers would be 3.375.
    assert most_whole_bps(network_of(problem)) == 3.0 * _G
    scarce = Problem.of(problem.topology, ("ps",), {"s1": 8.0 * _G})
    # s1 sums five (1.6 each), three are alone, four streams share 9: no number of them does better.
    assert most_whole_bps(network_of(scarce)) == pytest.approx(1.6 * _G)
    assert worthwhile(network_of(scarce)) == (("s1",),)


def test_no_exact_plan_is_above_it() -> None:
    for seed in range(12):
        problem = random_problem(np.random.default_rng(seed))
        plan = make_plan(problem, "grid-exact", np.random.default_rng(1))
        assert plan.min_rate_bps <= most_whole_bps(network_of(problem)) * (1 + 1e-6)


def test_the_largest_switches_are_worthwhile() -> None:
    topology = spine_leaf([6] * 4, 4, LinkShape(rate_bps=10 * _G))
    sizes = {switch.name: 10.0 * _G * number for number, switch in enumerate(topology.switches, 1)}
    network = network_of(Problem.of(topology, ("h1",), sizes))
    for nodes in worthwhile(network):
        assert set(nodes) == set(sorted(sizes, key=lambda name: -sizes[name])[: len(nodes)])
    assert len(worthwhile(network)) == 3


def test_few_switches_beat_a_sliver_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many switches, a server's link that takes few streams: rounding the program of all of them ends far below."""
    topology = spine_leaf([6] * 6, 6, LinkShape(rate_bps=10 * _G))
    problem = Problem.of(topology, ("h1",), 100.0 * _G)
    rate = make_plan(problem, "grid-rounded", np.random.default_rng(1)).min_rate_bps
    monkeypatch.setattr(grid, "worthwhile", lambda network: ())
    assert rate > 1.2 * make_plan(problem, "grid-rounded", np.random.default_rng(1)).min_rate_bps
