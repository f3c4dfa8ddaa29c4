from __future__ import annotations

import numpy as np
import pytest

from testbed.protocols.grid.bench_plans import random_problem
from topologies import LinkShape, grid_triangle, spine_leaf
from topologies.routing.gradients import Problem, grid, make_plan, rounding
from topologies.routing.gradients.network import network_of
from topologies.routing.gradients.one_node import most_whole_bps, worthwhile

_G = 1_000_000_000


def test_a_server_takes_as_many_streams_as_switches_are_open() -> None:
    problem = Problem.of(grid_triangle(LinkShape(rate_bps=3 * _G), LinkShape(rate_bps=9 * _G)), ("ps",), 9.0 * _G)
    # Three switches, 9 / 3 each; 27 for 8 workers would be 3.375.
    assert most_whole_bps(network_of(problem)) == 3.0 * _G
    scarce = Problem.of(problem.topology, ("ps",), {"s1": 8.0 * _G})
    # s1 sums four (2 each), four are alone, five streams share 9; with three alone s1 would give 1.6 each.
    assert most_whole_bps(network_of(scarce)) == pytest.approx(1.8 * _G)
    assert worthwhile(network_of(scarce)) == (("s1",),)


def test_no_exact_plan_is_above_it() -> None:
    for seed in range(6):
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


def test_large_networks_are_rounded_with_few_switches_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """One switch would have to sum 23 workers with 10 times a link, at 4.3; with two, the server's link leaves 5 to
    each stream."""
    topology = spine_leaf([4] * 6, 6, LinkShape(rate_bps=10 * _G))
    problem = Problem.of(topology, ("h1",), 100.0 * _G)
    monkeypatch.setattr(rounding, "_LARGE", 0)
    monkeypatch.setattr(rounding, "_STEPS", 2)
    plan = make_plan(problem, "grid-rounded", np.random.default_rng(1))
    assert plan.note.endswith("of what one node each could reach")
    monkeypatch.setattr(grid, "_MOST_CELLS", 0)
    few = make_plan(problem, "grid-rounded", np.random.default_rng(1))
    assert len(few.merges) <= max(map(len, worthwhile(network_of(problem))))
    assert few.min_rate_bps == pytest.approx(most_whole_bps(network_of(problem)))
    assert few.min_rate_bps == pytest.approx(few.bound_bps / 2)
    assert plan.min_rate_bps >= few.min_rate_bps * (1 - 1e-9)
