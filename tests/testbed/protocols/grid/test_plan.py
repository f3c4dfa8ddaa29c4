"""From a plan of gradient routes to what workers, server and switches are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.config import SwitchConfig
from testbed.faults.model import Kill, LinkDown, Window
from testbed.plan import Plan, make_plan
from testbed.protocols.grid.plan_routes import GROUP_IP, aggregator_ip
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from topologies import LinkShape, Topology, spine_leaf
from workloads.errors import ScenarioError
from workloads.grid import GridConfig, ShareTable


def scenario(planner: str = "grid", **routing: object) -> Scenario:
    loaded = load_scenario("grid")
    assert loaded.routing is not None
    return replace(loaded, routing=replace(loaded.routing, planner=planner, **routing))  # type: ignore[arg-type]


def switches(plan: Plan) -> dict[str, SwitchConfig]:
    return {config.name: config for config in plan.switches}


def workers(plan: Plan) -> dict[str, GridConfig]:
    return {worker.name: worker for worker in plan.workers if isinstance(worker, GridConfig)}


def walk(plan: Plan, source: bytes, goal: bytes, start: str, generation: int = 0) -> list[str]:
    """Nodes that a frame reaches behind `start`, by the tables alone; ends at a host, or at the switch that aggregates
    it."""
    topology: Topology = plan.scenario.topology
    path, here, found = [start], start, switches(plan)
    while here in found and len(path) < 10:
        grid = found[here].grid
        assert grid is not None
        if goal == grid.ip and (len(path) > 1 or source != grid.ip):
            return path
        table = {(route.src_ip, route.dst_ip): route.ports for route in grid.orders[generation].routes}
        ports = table.get((source, goal), table.get((None, goal), ()))
        assert len(ports) == 1, f"no single way at {here}"
        ((_, link, _),) = [entry for entry in topology.ports(here) if entry[0] == ports[0]]
        here = link.b if link.a == here else link.a
        path.append(here)
    return path


def test_every_gradient_takes_the_way_of_the_plan() -> None:
    for planner in ("grid", "atp", "geryon", "switchml", "shortest"):
        plan = make_plan(scenario(planner))
        routed, topology = plan.routing[0].plan, plan.scenario.topology
        nodes = {switch.name: number for number, switch in enumerate(topology.switches, 1)}
        for stream in routed.streams:
            goal = topology.node("ps").ip if stream.node == "ps" else aggregator_ip(nodes[stream.node])
            way = stream.routes[0].nodes
            assert tuple(walk(plan, topology.node(stream.worker).ip, goal, way[1])) == way[1:], (planner, stream.worker)
        for merge in routed.merges:
            way = walk(plan, aggregator_ip(nodes[merge.switch]), topology.node("ps").ip, merge.switch)
            assert tuple(way) == merge.routes[0].nodes


def test_what_goes_around_a_switch_reaches_the_server_and_answers_reach_workers() -> None:
    plan = make_plan(scenario())
    topology = plan.scenario.topology
    server = topology.node("ps").ip
    for stream in plan.routing[0].plan.streams:
        assert walk(plan, topology.node(stream.worker).ip, server, stream.node)[-1] == "ps"
        for switch in ("s1", "s2", "s3"):
            assert walk(plan, server, topology.node(stream.worker).ip, switch)[-1] == stream.worker


@pytest.mark.parametrize("planner", ["grid", "atp", "geryon", "switchml"])
def test_a_worker_reaches_the_server_itself_from_everywhere(planner: str) -> None:
    """With a sum that the server forgot when it started anew; also where the plan sends all that it has elsewhere."""
    plan = make_plan(scenario(planner))
    topology = plan.scenario.topology
    for stream in plan.routing[0].plan.streams:
        for switch in ("s1", "s2", "s3"):
            assert walk(plan, topology.node(stream.worker).ip, topology.node("ps").ip, switch)[-1] == "ps"


def test_results_reach_every_worker_once() -> None:
    plan = make_plan(scenario())
    reached, waiting = [], ["s3"]
    while waiting:
        grid = switches(plan)[here := waiting.pop()].grid
        assert grid is not None
        (route,) = [route for route in grid.orders[0].routes if route.dst_ip == GROUP_IP]
        for port, link, _ in plan.scenario.topology.ports(here):
            if port in route.ports:
                far = link.b if link.a == here else link.a
                (waiting if far in switches(plan) else reached).append(far)
    assert sorted(reached) == sorted(workers(plan))


def test_w4_is_aggregated_at_s2_and_never_at_its_own_switch() -> None:
    plan = make_plan(scenario())
    for name, config in workers(plan).items():
        table = ShareTable(config.orders[0].shares)
        expected = {"w1": 1, "w2": 1, "w3": 1, "w4": 2, "w5": 2, "w6": 2, "w7": 3, "w8": 3}[name]
        assert {table.node_of(config.collective.rank, packet) for packet in range(50)} == {expected}


def test_rates_are_the_plans_where_workers_are_paced() -> None:
    paced = workers(make_plan(scenario("geryon", mode="paced", pace=0.5)))
    assert [round(paced[name].orders[0].rate_bps / 1e6, 3) for name in ("w1", "w8")] == [5.0, 7.5]
    assert {worker.orders[0].rate_bps for worker in workers(make_plan(scenario())).values()} == {0.0}


def test_all_nodes_are_told_the_same_lanes_at_the_same_time() -> None:
    faults = (LinkDown("cut", ("s1-s3",), window=Window(100, None)),)
    plan = make_plan(replace(scenario("atp", react_ns=7), faults=faults))
    told = {tuple((o.at_ns, o.shares) for o in worker.orders) for worker in workers(plan).values()}
    for config in plan.switches:
        assert config.grid is not None
        told.add(tuple((o.at_ns, o.shares) for o in config.grid.orders))
    assert len(told) == 1
    ((first, second),) = told
    assert (first[0], second[0]) == (0, 107)
    assert [(reset.at_ns, reset.because_ns) for reset in plan.servers[0].resets] == [(107, 100)]


def test_a_new_plan_avoids_what_is_gone() -> None:
    faults = (LinkDown("cut", ("s1-s3",), window=Window(100, None)),)
    plan = make_plan(replace(scenario(), faults=faults))
    topology = plan.scenario.topology
    later = plan.routing[1].plan
    assert later.min_rate_bps == pytest.approx(15e6)
    assert "s1-s3" not in {
        link for part in (*later.streams, *later.merges) for route in part.routes for link in route.links
    }
    assert walk(plan, topology.node("ps").ip, topology.node("w1").ip, "s3", 1) == ["s3", "s2", "s1", "w1"]


def test_without_a_way_around_the_old_plan_stays() -> None:
    plan = make_plan(replace(scenario(), faults=(Kill("dead", "s1", Window(100, None)),)))
    assert len(plan.routing) == 1


def test_a_new_plan_that_no_table_holds_leaves_the_old_one() -> None:
    """With one spine away the linear program sends what a leaf cannot sum over both others."""
    shape = LinkShape(rate_bps=1_000_000_000)
    base = scenario("grid-lp", servers=("h3",), capacity_bps=100_000_000, capacities=(("leaf1", 0),))
    fabric = replace(base, topology=spine_leaf([2, 1], 3, shape), link=shape, job=replace(base.job, server="h3"))
    plan = make_plan(replace(fabric, faults=(LinkDown("l", ("leaf1-spine1",), window=Window(1_000_000)),)))
    assert [routed.because_ns for routed in plan.routing] == [None]
    ((when, reason),) = [(each.because_ns, each.reason) for each in plan.unroutable]
    assert when == 1_000_000
    assert "splits what h2 sends over 2 ways" in reason


def test_a_plan_with_several_ways_is_refused() -> None:
    with pytest.raises(ScenarioError, match="ways, which no table"):
        make_plan(scenario("grid-lp", capacity_bps=30_000_000))


def test_a_program_of_ones_own_runs_on_every_switch_that_aggregates() -> None:
    base = scenario(capacities=(("s3", 0),))
    own = replace(base, switch=replace(base.switch, program="mine.py:Mine", commodity="openflow"))
    programs = {name: config.program for name, config in switches(make_plan(own)).items()}
    assert programs == {"s1": "mine.py:Mine", "s2": "mine.py:Mine", "s3": "steer"}


def test_a_switch_that_can_aggregate_nothing_has_no_tokens() -> None:
    plan = make_plan(scenario(capacities=(("s3", 0),)))
    capacities = {name: config.grid.capacity_bps for name, config in switches(plan).items() if config.grid}
    assert capacities == {"s1": 90e6, "s2": 90e6, "s3": 0.0}
