"""Way by way and arc by arc: the same optimum."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.protocols.grid.bench_plans import random_problem
from testbed.protocols.grid.bench_sizes import fabric_problem
from topologies import LinkShape, fat_tree, spine_leaf
from topologies.routing.gradients import Problem, RoutingPlan, pathwise, violations
from topologies.routing.gradients.linkaware import LinkAware
from topologies.routing.gradients.network import Site, network_of
from topologies.routing.gradients.pathwise import relaxed


@pytest.fixture(autouse=True)
def way_by_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pathwise, "MOST_ARC_FLOWS", 0)


def _same(problem: Problem) -> None:
    network = network_of(problem)
    ours, arcs = relaxed(network), LinkAware(network).solve()
    assert ours.rate_bps == pytest.approx(arcs.rate_bps, rel=1e-6)
    plan = RoutingPlan(problem, "grid-lp", ours.streams, ours.merges, ours.rate_bps)
    assert violations(plan) == ()
    assert plan.min_rate_bps == pytest.approx(arcs.rate_bps, rel=1e-6)


def test_on_random_networks() -> None:
    for seed in range(30):
        _same(random_problem(np.random.default_rng(seed)))


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_on_fabrics(share: float) -> None:
    shape = LinkShape(rate_bps=100_000_000_000)
    _same(fabric_problem(spine_leaf([5] * 5, 5, shape), 24, 2, share))
    _same(fabric_problem(fat_tree(4, shape), 15, 1, share))


def test_for_several_servers() -> None:
    topology = spine_leaf([4] * 3, 2, LinkShape(rate_bps=1_000_000_000))
    _same(Problem.of(topology, ("h1", "h6"), {"leaf1": 2e9, "spine2": 3e9}))


def test_only_what_is_allowed_is_used() -> None:
    problem = fabric_problem(spine_leaf([5] * 5, 5, LinkShape(rate_bps=100_000_000_000)), 24, 2, 1.0)
    (server,) = problem.servers

    def allowed(site: Site, node: str, _: str) -> bool:
        return node in ("leaf2", "spine1", server)

    network = network_of(problem)
    ours = relaxed(network, allowed)
    assert {stream.node for stream in ours.streams} <= {"leaf2", "spine1", server}
    assert ours.rate_bps == pytest.approx(LinkAware(network, allowed).solve().rate_bps, rel=1e-6)


def test_ways_begin_with_one_each_and_grow_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without growth the optimum is missed: the example's ways are not enough."""
    problem = fabric_problem(spine_leaf([5] * 5, 5, LinkShape(rate_bps=100_000_000_000)), 24, 2, 1.0)
    network = network_of(problem)
    monkeypatch.setattr(pathwise._PathWise, "_grow", lambda self, solution, rows: False)
    assert relaxed(network).rate_bps < LinkAware(network).solve().rate_bps * (1 - 1e-3)
