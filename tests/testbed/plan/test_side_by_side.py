from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.config import SwitchConfig
from testbed.plan import Plan, make_plan
from testbed.plan.paths import data_flows, data_volumes, overbooked
from testbed.plan.side_by_side import side_by_side
from testbed.scenario import load_scenario, parse_scenario
from topologies import Direction
from workloads.errors import InternalError

_RACKS = """\
name: racks
topology: {kind: spine_leaf, leaves: 2, spines: 1, hosts_per_leaf: 4, link: {rate: 100Mbps}, uplink: {rate: 150Mbps}}
switch: {program: forward}
job: {protocol: ring, hosts: [h1, h5], size: 8kB}
"""
_OTHER = "beside=[{job: {protocol: ring, hosts: [h2, h6], size: 8kB}}]"


def _plan(name: str = "mixed-atp-rabenseifner") -> Plan:
    return make_plan(load_scenario(name))


def test_every_collective_plans_its_own_hosts_and_the_run_has_all_of_them() -> None:
    plan = _plan()
    assert [part.scenario.job.protocol for part in plan.parts] == ["atp", "rabenseifner", "repair"]
    assert plan.workers == tuple(worker for part in plan.parts for worker in part.workers)
    assert [server.name for server in plan.servers] == ["h5"]
    assert plan.connections == plan.parts[1].connections != ()
    assert len({host.name for host in plan.hosts}) == len(plan.hosts) == 14


def test_the_switches_are_those_of_the_first() -> None:
    plan = _plan()
    assert plan.switches == plan.parts[0].switches
    assert [[job.job for job in switch.jobs] for switch in plan.switches] == [[1, 2]]
    assert all(switch.program == "forward" for part in plan.parts[1:] for switch in part.switches)


def test_one_collective_is_its_own_plan() -> None:
    plan = _plan("ring")
    assert plan.beside == ()
    assert plan.parts == (plan,)


def test_no_queue_pair_and_no_gradient_of_two_collectives_is_the_same() -> None:
    first, second = make_plan(parse_scenario(_RACKS, "x.yaml", [_OTHER])).parts
    for one, other in zip(first.ring_workers, second.ring_workers, strict=True):
        assert one.to_successor.qpn != other.to_successor.qpn
        assert one.workload.seed != other.workload.seed


def test_a_collective_that_asks_something_of_a_switch_is_not_planned_beside_others() -> None:
    plan = _plan("mixed-netreduce-ring")
    first, second, third = plan.parts
    with pytest.raises(InternalError, match="netreduce asks something of s1"):
        side_by_side(plan.scenario, (third, first, second))
    switch: SwitchConfig = _plan().switches[0]
    with pytest.raises(InternalError, match="ring asks something of s1"):
        side_by_side(plan.scenario, (first, replace(second, switches=(switch,)), third))


def test_links_that_collectives_share_carry_the_data_of_both() -> None:
    alone, both = (make_plan(parse_scenario(_RACKS, "x.yaml", more)) for more in ([], [_OTHER]))
    up = ("leaf1-spine1", Direction.UP)
    assert (data_flows(alone)[up], data_flows(both)[up]) == (1, 2)
    assert data_volumes(both)[up] == 2 * data_volumes(alone)[up] > 0


def test_hosts_of_two_collectives_together_may_send_more_than_a_link_takes() -> None:
    alone, both = (make_plan(parse_scenario(_RACKS, "x.yaml", more)) for more in ([], [_OTHER]))
    assert overbooked(alone) == frozenset()
    assert {link for link, _ in overbooked(both)} == {"leaf1-spine1", "leaf2-spine1"}
