"""What every plan holds, on random networks; and what cannot be planned says why."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topologies import Cable, LinkShape, assemble, grid_triangle, host, switch
from topologies.routing.gradients import PLANNERS, Infeasible, Problem, make_plan, violations
from topologies.routing.gradients.grid import eq1_rounding, link_rounding
from topologies.routing.gradients.linkaware import LinkAware
from topologies.routing.gradients.network import network_of

_G = 1_000_000_000
_SLACK = 1 + 1e-6


@st.composite
def problems(draw: st.DrawFn, servers: int = 1) -> Problem:
    """2 to 4 switches in a tree with chords, 2 to 5 workers anywhere, rates of 1 to 6, capacities of 0 to 9."""
    switches = [f"s{number}" for number in range(1, draw(st.integers(2, 4)) + 1)]
    rate = st.integers(1, 6).map(lambda gbps: LinkShape(rate_bps=gbps * _G))
    pairs = {(switches[draw(st.integers(0, number - 1))], switches[number]) for number in range(1, len(switches))}
    pairs |= {(a, b) for a in switches for b in switches if a < b and draw(st.booleans())}
    hosts = [host(number) for number in range(1, draw(st.integers(2, 5)) + 1 + servers)]
    cables = [Cable(node.name, draw(st.sampled_from(switches)), draw(rate)) for node in hosts]
    cables += [Cable(a, b, draw(rate)) for a, b in sorted(pairs)]
    capacities = {name: float(draw(st.integers(0, 9)) * _G) for name in switches}
    capacities["s1"] += _G
    topology = assemble("random", [*hosts, *map(switch, switches)], cables)
    return Problem.of(topology, tuple(node.name for node in hosts[-servers:]), capacities)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(problems())
def test_every_plan_holds_and_the_better_ones_are_better(problem: Problem) -> None:
    plans = {
        name: make_plan(problem, name, np.random.default_rng(1)) for name in PLANNERS if name not in ("inart", "grid")
    }
    for plan in plans.values():
        assert violations(plan) == ()
    rates = {name: plan.min_rate_bps for name, plan in plans.items()}
    bound = rates["grid-lp"] * _SLACK
    assert bound >= rates["grid-exact"]
    assert rates["grid-exact"] * _SLACK >= rates["grid-rounded"] > 0
    assert bound >= rates["atp"] and rates["atp"] * _SLACK >= rates["switchml"]  # noqa: PT018
    assert rates["atp"] * _SLACK >= rates["atp-unmerged"]
    assert rates["atp-unmerged"] * _SLACK >= rates["shortest"]
    assert bound >= rates["multipath"]
    assert rates["multipath"] * _SLACK >= rates["geryon"]
    assert rates["geryon"] * _SLACK >= rates["shortest"]
    assert plans["grid-exact"].single and plans["grid-rounded"].single  # noqa: PT018


_SEVERAL = [name for name, planner in PLANNERS.items() if planner.several_servers]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(problems(servers=2))
def test_plans_for_two_servers_hold_and_none_beats_the_linear_program(problem: Problem) -> None:
    plans = {name: make_plan(problem, name, np.random.default_rng(1)) for name in _SEVERAL}
    for plan in plans.values():
        assert violations(plan) == ()
        assert plan.min_rate_bps <= plans["grid-lp"].min_rate_bps * _SLACK


@pytest.mark.parametrize("planner", _SEVERAL)
def test_a_server_that_the_fastest_plan_does_not_need_gets_nothing(planner: str) -> None:
    """Two workers fill their own links: one of the servers takes it all."""
    topology = grid_triangle(LinkShape(rate_bps=3 * _G), LinkShape(rate_bps=9 * _G))
    capacities = dict.fromkeys(("s1", "s2", "s3"), 9.0 * _G)
    plan = make_plan(Problem.of(topology, ("ps", "w8"), capacities, ("w1", "w2")), planner, np.random.default_rng(1))
    assert violations(plan) == ()
    assert plan.min_rate_bps == pytest.approx(3 * _G if planner != "shortest" else 1.5 * _G)
    if planner in ("grid-lp", "inart"):
        assert len({stream.server for stream in plan.streams}) == 1


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(problems(), st.integers(0, 1000))
def test_repair_makes_every_draw_feasible(problem: Problem, seed: int) -> None:
    network = network_of(problem)
    roundings = [
        eq1_rounding(problem, np.random.default_rng(seed)),
        link_rounding(network, LinkAware(network).solve(), np.random.default_rng(seed))[0],
    ]
    for rounding in roundings:
        for _ in range(5):
            found = rounding.repaired(rounding.draw())
            loads = rounding.choices.loads(found.assignment) * found.rate_bps
            assert (loads <= rounding.choices.capacity_bps * _SLACK).all()
            assert found.drawn_bps <= found.rate_bps * _SLACK
            assert found.rate_bps <= rounding.bound_bps * _SLACK
            assert found.feasible == (found.drawn_bps >= rounding.bound_bps / _SLACK)


def _example(**changes: float) -> Problem:
    shape = LinkShape(rate_bps=3 * _G)
    return Problem.of(grid_triangle(shape), ("ps",), changes.get("capacity", 9.0 * _G), (), changes.get("demand", 0.0))


def _refused(problem: Problem, planner: str) -> Infeasible:
    with pytest.raises(Infeasible) as caught:
        make_plan(problem, planner, np.random.default_rng(1))
    return caught.value


def test_no_capacity_anywhere() -> None:
    error = _refused(_example(capacity=0.0), "grid")
    assert str(error) == "no switch can aggregate anything, all have capacity 0: s1, s2, s3"
    assert make_plan(_example(capacity=0.0), "geryon", np.random.default_rng(1)).min_rate_bps == pytest.approx(_G)


def test_more_demand_than_the_server_takes() -> None:
    error = _refused(_example(demand=10.0 * _G), "grid")
    assert str(error) == "a demand of 1e+10 bit/s is above the 9e+09 that the servers' links take: s3->ps"


def test_more_demand_than_a_workers_link_takes() -> None:
    assert _refused(_example(demand=4.0 * _G), "grid").binds == tuple(
        f"w{n}->s{1 if n < 5 else 2 if n < 7 else 3}" for n in range(1, 9)
    )


@pytest.mark.parametrize(
    ("planner", "binds"), [("atp", ("s1->s3", "s1")), ("geryon", ("s3->ps", "s1->s3", "s2->s3")), ("switchml", ("s1",))]
)
def test_more_demand_than_a_planner_reaches_names_what_is_full(planner: str, binds: tuple[str, ...]) -> None:
    assert _refused(_example(demand=2.5 * _G), planner).binds == binds


def test_a_server_that_nobody_reaches() -> None:
    shape = LinkShape(rate_bps=_G)
    nodes = [host(1), host(2), switch("s1"), switch("s2")]
    topology = assemble("parts", nodes, [Cable("h1", "s1", shape), Cable("h2", "s2", shape)])
    error = _refused(Problem.of(topology, ("h2",), float(_G)), "grid")
    assert str(error) == "h1 cannot reach h2: no way leads from s1 to s2: h2"


def test_planners_of_one_server_refuse_several() -> None:
    shape = LinkShape(rate_bps=_G)
    topology = assemble(
        "rack", [host(1), host(2), host(3), switch("s1")], [Cable(f"h{n}", "s1", shape) for n in (1, 2, 3)]
    )
    with pytest.raises(ValueError, match="planner grid knows one server"):
        make_plan(Problem.of(topology, ("h2", "h3"), float(_G)), "grid", np.random.default_rng(1))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"servers": ("s1",)}, "s1 is no host"),
        ({"workers": ("ps",)}, "workers and servers are different hosts, at least one of each"),
        ({"capacities": {"w1": 1.0}}, "w1 is no switch"),
        ({"capacities": {"s1": -1.0}}, "s1 cannot aggregate less than nothing"),
    ],
)
def test_problems_that_make_no_sense(changes: dict[str, object], text: str) -> None:
    keys = {"servers": ("ps",), "capacities": 1.0, "workers": ()} | changes
    with pytest.raises(ValueError, match=text):
        Problem.of(grid_triangle(LinkShape()), **keys)  # type: ignore[arg-type]


def test_a_parallel_link_is_a_way_of_its_own() -> None:
    """Two lanes between two switches carry twice as much, split."""
    shape, wide = LinkShape(rate_bps=_G), LinkShape(rate_bps=4 * _G)
    cables = [
        Cable("h1", "s1", wide),
        Cable("h2", "s2", wide),
        Cable("s1", "s2", shape, 1),
        Cable("s1", "s2", shape, 2),
    ]
    problem = Problem.of(assemble("lanes", [host(1), host(2), switch("s1"), switch("s2")], cables), ("h2",), float(_G))
    plan = make_plan(problem, "multipath", np.random.default_rng(1))
    assert plan.min_rate_bps == pytest.approx(2 * _G)
    assert {load.link for load in plan.link_loads} == {"h1-s1", "h2-s2", "s1-s2-1", "s1-s2-2"}


@pytest.mark.parametrize(("failed", "rate"), [("s1-s2", 2.25), ("s1-s3", 1.5), ("s2-s3", 1.5)])
def test_what_is_left_after_a_failure_is_planned_again(failed: str, rate: float) -> None:
    """One node per worker. Without s1-s3 or s2-s3 one link carries two aggregates; without s1-s2, s1 sums all of its
    four."""
    problem = _example().without(failed)
    assert failed not in {link.name for link in problem.topology.links}
    plan = make_plan(problem, "grid", np.random.default_rng(1))
    assert plan.min_rate_bps == pytest.approx(rate * _G)
    assert violations(plan) == ()


@pytest.mark.parametrize("planner", PLANNERS)
def test_switches_that_a_failure_cuts_off_aggregate_nothing(planner: str) -> None:
    shape = LinkShape(rate_bps=_G)
    nodes = [*(host(n) for n in (1, 2, 3)), switch("s1"), switch("s2")]
    topology = assemble("x", nodes, [*(Cable(f"h{n}", "s1", shape) for n in (1, 2, 3)), Cable("s1", "s2", shape)])
    whole = Problem.of(topology, ("h3",), {"s1": float(_G), "s2": 9.0 * _G})
    plan = make_plan(whole.without("s1-s2"), planner, np.random.default_rng(1))
    assert {stream.node for stream in plan.streams} <= {"s1", "h3"}


def test_failures_that_leave_nothing_to_plan() -> None:
    with pytest.raises(Infeasible, match="w7 is cut off: s3"):
        _example().without("s3")
    with pytest.raises(KeyError):
        _example().without("s9")
    assert _refused(_example().without("s1-s3", "s1-s2"), "grid").binds == ("ps",)
