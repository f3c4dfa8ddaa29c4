"""Every value of the worked examples of GRID, GOAT and InArt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topologies import Cable, LinkShape, Topology, assemble, grid_triangle, host, switch
from topologies.routing.gradients import Problem, RoutingPlan, assigned_plan, make_plan, violations
from topologies.routing.gradients.eq1 import solve_eq1
from topologies.routing.gradients.goat import place_submodels
from topologies.routing.gradients.grid import eq1_rounding
from topologies.routing.gradients.slots import run_slots

_G = 1_000_000_000
_ROUNDED = 5e-7
"""the files have six decimals"""


@pytest.fixture(scope="module")
def grid(oracles: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((oracles / "grid.json").read_text())
    return found


@pytest.fixture(scope="module")
def more(oracles: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((oracles / "goat_inart.json").read_text())
    return found


def _shape(gbps: float) -> LinkShape:
    return LinkShape(rate_bps=round(gbps * _G))


def _example(switch_gbps: float = 9, server_gbps: float = 9, access_gbps: float = 3) -> Problem:
    access = {f"w{n}-s{1 if n < 5 else 2 if n < 7 else 3}": _shape(access_gbps) for n in range(1, 9)}
    return Problem.of(grid_triangle(_shape(3), _shape(server_gbps), access), ("ps",), switch_gbps * _G)


def _plan(problem: Problem, planner: str) -> RoutingPlan:
    return make_plan(problem, planner, np.random.default_rng(1))


def _rate(problem: Problem, planner: str) -> float:
    return _plan(problem, planner).min_rate_bps / _G


def test_the_network_is_the_one_of_the_example(grid):
    ours = {frozenset((link.a, link.b)): link.shape.rate_bps / _G for link in _example().topology.links}
    assert ours == {frozenset(end.lower() for end in link["ends"]): link["gbps"] for link in grid["topology"]["links"]}
    assert {name.upper(): rate / _G for name, rate in _example().capacities} == grid["topology"][
        "switch_aggregation_gbps"
    ]


@pytest.mark.parametrize("scheme", ["geryon", "atp", "grid"])
def test_rates_and_loads_of_the_schemes(grid, scheme):
    want, plan = grid["schemes"][scheme], _plan(_example(), scheme)
    assert plan.min_rate_bps / _G == pytest.approx(want["min_rate"], abs=_ROUNDED)
    assert {w.upper(): rate / _G for w, rate in plan.worker_rates.items()} == pytest.approx(
        want["worker_rate"], abs=1e-6
    )
    loads = {load.name: load.load_bps / _G for load in plan.link_loads}
    for name, load in want["link_load"].items():
        assert loads.pop("->".join(end.lower() for end in name.split("->"))) == pytest.approx(load, abs=1e-6), name
    # What the oracle does not name carries nothing; the server's link under ATP it leaves open.
    assert loads.keys() <= ({"s3->ps"} if scheme == "atp" else set())
    switches = {load.name.upper(): load.load_bps / _G for load in plan.switch_loads}
    assert switches == pytest.approx(want["switch_load"], abs=1e-6)
    assert violations(plan) == ()


def test_the_ratio_of_the_schemes(grid):
    rates = [_rate(_example(), scheme) for scheme in ("geryon", "atp", "grid")]
    assert [rate / rates[0] for rate in rates] == pytest.approx(grid["expected_ratio"])


@pytest.mark.parametrize("scheme", ["geryon", "grid"])
def test_routes_of_the_schemes(grid, scheme):
    plan = _plan(_example(), scheme)
    streams = {stream.worker: stream for stream in plan.streams}
    merges = {f"agg {merge.switch}": merge for merge in plan.merges}
    for names, route in grid["schemes"][scheme]["routes"].items():
        for name in names.split(","):
            (ours,) = (streams.get(name.lower()) or merges[name.replace("S", "s")]).routes
            nodes = ours.nodes if name.startswith("agg") else ours.nodes[1:]
            assert nodes == tuple(node.lower() for node in route), name
    assert plan.single
    for node, workers in grid["schemes"][scheme].get("agg_at", {}).items():
        assert plan.fan_in[node.lower(), "ps"] == tuple(worker.lower() for worker in workers)


def test_the_parts_of_atp(grid):
    want, plan = grid["schemes"]["atp"], _plan(_example(), "atp")
    shares = {(s.worker, s.node): s.rate_bps / _G for s in plan.streams}
    for worker in ("w1", "w2", "w3", "w4"):
        assert shares[worker, "s1"] == pytest.approx(want["aggregated_rate_W1_W4"], abs=1e-6)
        rest = plan.worker_rates[worker] / _G - shares[worker, "s1"]
        assert rest == pytest.approx(want["residual_rate_per_worker"], abs=1e-6)
        assert rest / plan.worker_rates[worker] * _G == pytest.approx(
            want["bypassed_fraction_of_fragments_at_S1"], abs=1e-6
        )
    unmerged = _plan(_example(), "atp-unmerged")
    assert unmerged.load_bps("s3->ps") / _G == pytest.approx(want["ps_ingress"]["residual_unmerged_at_S3"], abs=1e-6)
    assert unmerged.min_rate_bps / _G == pytest.approx(want["min_rate"])


def test_variants_of_the_linear_program(grid):
    want = grid["lp_link_aware"]
    variants = want["variants"]
    assert _rate(_example(), "multipath") == pytest.approx(variants["no_ina_optimal_splittable"], abs=_ROUNDED)
    assert _rate(_example(), "switchml") == pytest.approx(variants["nearest_switch_only"], abs=_ROUNDED)
    for planner in ("atp", "atp-unmerged"):
        assert _rate(_example(), planner) == pytest.approx(variants["nearest_switch_residual_on_L1_only"], abs=_ROUNDED)
    for planner in ("grid-lp", "grid-exact", "grid-rounded"):
        assert _rate(_example(), planner) == pytest.approx(variants["any_node_splittable"], abs=_ROUNDED)
    free = _rate(_example(access_gbps=100), "grid-lp")
    assert free == pytest.approx(variants["access_links_unlimited"], abs=_ROUNDED)
    for capacity, rate in want["switch_capacity_splittable"].items():
        assert _rate(_example(float(capacity)), "grid-lp") == pytest.approx(rate, abs=_ROUNDED)
    for capacity, rate in want["switch_capacity_unsplittable"].items():
        assert _rate(_example(float(capacity)), "grid-exact") == pytest.approx(rate, abs=_ROUNDED)
        assert _rate(_example(float(capacity)), "grid") == pytest.approx(rate, abs=_ROUNDED)
    for ingress, rate in want["ps_ingress_splittable"].items():
        assert _rate(_example(server_gbps=float(ingress)), "grid-lp") == pytest.approx(rate, abs=_ROUNDED)


def test_eq1(grid):
    for key, want in grid["paper_eq1"].items():
        most = float(key.removeprefix("T=")) * _G
        assert solve_eq1(_example(), most).rate_bps / _G == pytest.approx(want["lp_lambda"], abs=_ROUNDED)
        assert solve_eq1(_example(), most, whole=True).rate_bps / _G == pytest.approx(want["ilp_lambda"], abs=_ROUNDED)


def test_rounding_keeps_lambda_and_repair_reaches_it(grid):
    want = grid["rounding_check"]
    rounding = eq1_rounding(_example(), np.random.default_rng(3), want["T"] * _G)
    assert rounding.bound_bps / _G == pytest.approx(want["lambda_kept"])
    assert min(_example().capacity_bps("s1"), 9 * _G) / (8 * want["T"] * _G) == want["nu"]
    for _ in range(300):
        found = rounding.repaired(rounding.draw())
        assert found.rate_bps / _G == pytest.approx(want["lambda_kept"])
        assert (
            rounding.choices.loads(found.assignment) * found.rate_bps <= rounding.choices.capacity_bps * (1 + 1e-9)
        ).all()
        assert found.steps <= 4


def _two_racks(racks: dict[str, int], servers: tuple[str, ...], shape: LinkShape, server: LinkShape) -> Topology:
    """Workers w1.. on the named switches, servers on one more, all switches linked to each other."""
    homes = [name for name, count in racks.items() for _ in range(count)]
    names = [f"w{number}" for number in range(1, len(homes) + 1)] + list(servers)
    top = f"{next(iter(racks))[0]}{len(racks) + 1}"
    wide = LinkShape(rate_bps=100 * shape.rate_bps)
    cables = [Cable(name, home, shape) for name, home in zip(names, homes, strict=False)]
    cables += [Cable(name, top, server) for name in servers]
    every = [*racks, top]
    cables += [Cable(a, b, wide) for index, a in enumerate(every) for b in every[index + 1 :]]
    return assemble("example", [*(host(n, name) for n, name in enumerate(names, 1)), *map(switch, every)], cables)


def _inart() -> Problem:
    network = _two_racks({"v1": 4, "v2": 2}, ("ps1", "ps2"), _shape(6), _shape(4))
    return Problem.of(network, ("ps1", "ps2"), {"v1": 6 * _G, "v2": 6 * _G})


@pytest.mark.parametrize("scheme", ["lbmm", "atp", "inart"])
def test_inarts_schemes_load_what_the_paper_says(more, scheme):
    want = more["inart"]["schemes"][scheme]
    nodes = {
        (f"w{worker}", server.lower()): server.lower() if node == "direct" else node.lower()
        for server, groups in want["assign"].items()
        for node, workers in groups
        for worker in workers
    }
    plan = assigned_plan(_inart(), nodes, {server.lower(): rate * _G for server, rate in want["rate"].items()})
    loads = {name: plan.load_bps(name.lower()) / _G for name in ("V1", "V2")}
    loads |= {name: plan.load_bps(f"v3->{name.lower()}") / _G for name in ("PS1", "PS2")}
    assert loads | {"rate": plan.min_rate_bps / _G} == pytest.approx(want["expected"], abs=5e-6)
    assert violations(plan) == ()


def test_inarts_planners(more):
    schemes, best = more["inart"]["schemes"], more["inart"]["node_cap_optimum_unsplittable"]
    rates = [_rate(_inart(), planner) for planner in ("geryon", "atp-whole", "inart")]
    assert rates[0] == pytest.approx(schemes["lbmm"]["expected"]["rate"], abs=_ROUNDED)
    assert rates[1] == pytest.approx(schemes["atp"]["expected"]["rate"], abs=_ROUNDED)
    assert rates[2] >= schemes["inart"]["expected"]["rate"]
    assert rates[2] == pytest.approx(best["rate"], abs=_ROUNDED)


def test_inarts_optimum_under_node_capacities(more):
    want = more["inart"]["node_cap_optimum_unsplittable"]
    nodes = {}
    for server, (at_v1, at_v2, direct) in want["workers_at_V1_V2_direct"].items():
        chosen = ["v1"] * at_v1 + ["v2"] * at_v2 + [server.lower()] * direct
        nodes |= {(f"w{number}", server.lower()): node for number, node in enumerate(chosen, 1)}
    plan = assigned_plan(_inart(), nodes, {server.lower(): rate * _G for server, rate in want["rates"].items()})
    assert plan.min_rate_bps / _G == pytest.approx(want["rate"])
    assert violations(plan) == ()


def test_goats_placement(more):
    want = more["goat"]["goat"]
    problem = Problem.of(_two_racks({"s1": 2, "s2": 2}, ("ps",), _shape(1), _shape(1)), ("ps",), 1.0)
    placed = place_submodels(problem, dict.fromkeys("ABC", 1), dict.fromkeys(("s1", "s2", "s3"), 1))
    assert {model: found[0].upper() for model, found in placed.owners} == want["owner"]
    packets = [placed.packets()[name] for name in ("s1", "s2", "s3")]
    assert packets == want["packets"]
    assert sum(packets) == want["total"]
    atp = more["goat"]["atp_async_sticky"]
    assert 1 - packets[2] / atp["packets"][2] == pytest.approx(more["goat"]["reduction"]["ps"], abs=_ROUNDED)
    assert 1 - sum(packets) / atp["total"] == pytest.approx(more["goat"]["reduction"]["total"], abs=_ROUNDED)
    assert more["goat"]["ps_packets"] == {"atp": atp["packets"][2], "goat": packets[2]}


def test_goats_plan_sends_what_its_placement_counts(more):
    """In units of a sub-model per worker: what the switches' links carry is what the paper counts as packets."""
    problem = Problem.of(_two_racks({"s1": 2, "s2": 2}, ("ps",), _shape(1), _shape(1)), ("ps",), 1.0)
    plan = make_plan(problem, "goat", np.random.default_rng(1))
    assert violations(plan) == ()
    part = plan.min_rate_bps / 3
    sent = [
        sum(load.load_bps for load in plan.link_loads if load.name.startswith(f"{name}->") and load.load_bps) / part
        for name in ("s1", "s2", "s3")
    ]
    assert sent == pytest.approx(more["goat"]["goat"]["packets"])
    assert len(plan.streams) == 4 * 3
    assert {node for _, _, node in ((s.worker, s.server, s.node) for s in plan.streams)} == {"s1", "s2", "s3"}


@pytest.mark.parametrize(
    ("key", "sticky", "together"),
    [("atp_async_sticky", True, False), ("atp_async_plain_fcfs", False, False), ("atp_sync", True, True)],
)
def test_slots_first_come_first_served(more, key, sticky, together):
    want = more["goat"][key]
    order = [(name[0], int(name[1:])) for name in more["goat"]["arrival_async"]]
    if together:
        order.sort()
    tors, top = run_slots([order, [(name, worker + 2) for name, worker in order]], 1, sticky=sticky)
    sent = [[str(fragment) for fragment in node.sent] for node in (*tors, top)]
    assert sent == [want["S1"], want["S2"], want["S3"]]
    assert [len(found) for found in sent] == want["packets"]
    assert sum(map(len, sent)) == want["total"]
