"""Each rule of `violations`, broken once; and plans that are saved and loaded."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from topologies import LinkShape, grid_triangle
from topologies.routing.gradients import (
    PLANNERS,
    Problem,
    Route,
    RoutingPlan,
    make_plan,
    plan_from_document,
    plan_to_document,
    violations,
)

_G = 1_000_000_000


def _problem() -> Problem:
    return Problem.of(grid_triangle(LinkShape(rate_bps=3 * _G)), ("ps",), 9.0 * _G)


@pytest.fixture(scope="module")
def plan() -> RoutingPlan:
    return make_plan(_problem(), "grid", np.random.default_rng(1))


def _with_stream(plan: RoutingPlan, index: int, **changes: object) -> RoutingPlan:
    streams = list(plan.streams)
    streams[index] = replace(streams[index], **changes)  # type: ignore[arg-type]
    return replace(plan, streams=tuple(streams))


def _route(plan: RoutingPlan, nodes: str, links: str, rate: float = 3.0 * _G) -> tuple[Route, ...]:
    return (Route(tuple(nodes.split()), tuple(links.split()), rate),)


def test_a_route_that_leaves_its_links(plan: RoutingPlan) -> None:
    assert "w1 to s1 for ps: w2-s1 does not lead from w1 to s1" in violations(
        _with_stream(plan, 0, routes=_route(plan, "w1 s1", "w2-s1"))
    )


def test_a_route_to_somewhere_else(plan: RoutingPlan) -> None:
    assert "w1 to s1 for ps: a route from w1 to s2" in violations(
        _with_stream(plan, 0, routes=_route(plan, "w1 s1 s2", "w1-s1 s1-s2"))
    )


def test_a_route_that_circles(plan: RoutingPlan) -> None:
    round_trip = _route(plan, "w1 s1 s2 s1", "w1-s1 s1-s2 s1-s2")
    assert "w1 to s1 for ps: a route that circles" in violations(_with_stream(plan, 0, routes=round_trip))


def test_a_route_over_a_host(plan: RoutingPlan) -> None:
    over = _route(plan, "w1 s1 w2 s1", "w1-s1 w2-s1 w2-s1")
    assert "w1 to s1 for ps: host w2 is on the way" in violations(_with_stream(plan, 0, routes=over))


def test_too_few_links(plan: RoutingPlan) -> None:
    assert "w1 to s1 for ps: 0 links for 2 nodes" in violations(
        _with_stream(plan, 0, routes=(Route(("w1", "s1"), (), 3.0 * _G),))
    )


def test_a_route_without_a_rate(plan: RoutingPlan) -> None:
    assert "w1 to s1 for ps: a route without a rate" in violations(
        _with_stream(plan, 0, routes=_route(plan, "w1 s1", "w1-s1", 0.0))
    )


def test_a_switch_that_aggregates_nothing(plan: RoutingPlan) -> None:
    weak = replace(plan, problem=Problem.of(plan.problem.topology, ("ps",), {"s2": 9.0 * _G, "s3": 9.0 * _G}))
    found = violations(weak)
    assert "w1 to s1 for ps: s1 aggregates nothing" in found
    assert "s1: load 9e+09 above capacity 0" in found


def test_a_full_link_and_a_full_switch(plan: RoutingPlan) -> None:
    found = violations(_with_stream(plan, 0, routes=_route(plan, "w1 s1", "w1-s1", 4.0 * _G)))
    assert "w1->s1: load 4e+09 above capacity 3e+09" in found
    assert "s1: load 1e+10 above capacity 9e+09" in found
    assert "aggregate of s1 for ps: fastest input 4e+09, output 3e+09" in found


def test_an_aggregate_that_gets_lost(plan: RoutingPlan) -> None:
    assert "aggregate of s1 for ps: fastest input 3e+09, output 0" in violations(
        replace(plan, merges=tuple(merge for merge in plan.merges if merge.switch != "s1"))
    )
    assert "two aggregates of one switch and server" in violations(replace(plan, merges=plan.merges * 2))


def test_a_worker_that_serves_nobody(plan: RoutingPlan) -> None:
    assert "w1 sends nothing to ps" in violations(replace(plan, streams=plan.streams[1:]))


def test_a_plan_that_moves_nothing(plan: RoutingPlan) -> None:
    assert "no worker sends anything" in violations(replace(plan, streams=(), merges=()))


def test_a_server_without_a_share(plan: RoutingPlan) -> None:
    """A plan may leave a server out for all workers, not for some."""
    problem = replace(plan.problem, servers=("ps", "w8"), workers=plan.problem.workers[:7])
    without = replace(plan, problem=problem, streams=tuple(s for s in plan.streams if s.worker != "w8"))
    assert violations(without) == ()
    first = without.streams[0]
    half = tuple(replace(route, rate_bps=route.rate_bps / 2) for route in first.routes)
    to_w8 = replace(first, server="w8", routes=half)
    found = violations(replace(without, streams=(replace(first, routes=half), to_w8, *without.streams[1:])))
    assert "w2 sends nothing to w8" in found


def test_strangers_and_doubles(plan: RoutingPlan) -> None:
    for changes, text in (({"worker": "ps"}, "ps to s1 for ps"), ({"server": "w2"}, "w1 to s1 for w2")):
        stranger = replace(plan.streams[0], **changes)
        assert f"{text}: no worker or server of the problem" in violations(
            replace(plan, streams=(*plan.streams, stranger))
        )
    assert "two streams of one worker, node and server" in violations(
        replace(plan, streams=(*plan.streams, plan.streams[0]))
    )


def test_promises(plan: RoutingPlan) -> None:
    hungry = replace(plan, problem=replace(plan.problem, demand_bps=4.0 * _G))
    assert violations(hungry) == ("smallest rate 3e+09 below the demand 4e+09",)
    assert violations(replace(plan, bound_bps=2.0 * _G)) == ("smallest rate 3e+09 above the bound 2e+09",)


@pytest.mark.parametrize("planner", PLANNERS)
def test_plans_survive_being_written(planner: str) -> None:
    plan = make_plan(_problem(), planner, np.random.default_rng(1))
    assert plan_from_document(json.loads(json.dumps(plan_to_document(plan)))) == plan


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda document: {}, "not a plan"),
        (lambda document: document | {"schema": 2}, "schema 2, not 1"),
        (lambda document: {k: v for k, v in document.items() if k != "merges"}, "not a plan: KeyError 'merges'"),
        (lambda document: document | {"streams": 3}, "not a plan: TypeError 'int' object is not iterable"),
    ],
)
def test_what_is_no_plan(plan, change, text):
    with pytest.raises(ValueError, match=text):
        plan_from_document(change(plan_to_document(plan)))
