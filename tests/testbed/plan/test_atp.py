"""From a scenario to workers, servers and switches of ATP and ESA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from switch_nodes.jobs import AggregatorKnobs, JobConfig, RackLevels
from switch_nodes.registry import create_program
from testbed.plan import Plan, make_plan
from testbed.plan.paths import data_flows
from testbed.scenario import parse_scenario
from topologies import Direction
from workloads.atp import AtpConfig
from workloads.hosts import create_host

RACK = "topology: {kind: rack, hosts: 5}"
FABRIC = "topology: {kind: spine_leaf, leaves: 3, spines: 2, hosts_per_leaf: 2}"


def planned(text: str = "job: {protocol: atp}", topology: str = RACK, program: str = "atp", **more: Any) -> Plan:
    overrides = [f"{key.replace('__', '.')}={value}" for key, value in more.items()]
    return make_plan(
        parse_scenario(f"name: x\n{topology}\nswitch: {{program: {program}}}\n{text}\n", "x.yaml", overrides)
    )


def workers(plan: Plan) -> list[AtpConfig]:
    found = [worker for worker in plan.workers if isinstance(worker, AtpConfig)]
    assert len(found) == len(plan.workers)
    return found


def jobs(plan: Plan) -> dict[str, tuple[JobConfig, ...]]:
    return {switch.name: switch.jobs for switch in plan.switches}


def test_the_last_host_is_the_server() -> None:
    plan = planned()
    assert [worker.name for worker in plan.workers] == ["h1", "h2", "h3", "h4"]
    (server,) = plan.servers
    host = plan.scenario.topology.node("h5")
    assert (server.name, server.envelope.src_ip, server.envelope.src_mac) == ("h5", host.ip, host.mac)
    assert all(worker.envelope.dst_ip == host.ip and worker.envelope.dst_mac == host.mac for worker in workers(plan))


def test_another_host_may_be_the_server() -> None:
    plan = planned("job: {protocol: atp, server: h2}")
    assert [worker.name for worker in plan.workers] == ["h1", "h3", "h4", "h5"]
    assert [worker.collective.rank for worker in plan.workers] == [0, 1, 2, 3]
    assert [server.name for server in plan.servers] == ["h2"]


@pytest.mark.parametrize(("text", "topology"), [
    ("job: {protocol: atp, size: 50kB, window_packets: 9}", RACK),
    ("job: {protocol: atp, copies: 2}", RACK),
    ("job: {protocol: atp}", FABRIC),
])  # fmt: skip
def test_workers_server_and_switches_agree(text: str, topology: str) -> None:
    plan = planned(text, topology, switch__memory=33)
    served = {job.job: job for server in plan.servers for job in server.jobs}
    assert set(served) == set(plan.groups)
    for worker in workers(plan):
        job = served[worker.group]
        mine = (worker.window, worker.memory, worker.salt, worker.elements, worker.rto_ns, worker.collective.arithmetic)
        assert mine == (job.window, job.memory, job.salt, job.elements, job.rto_ns, job.arithmetic)
        member = job.members[worker.collective.rank]
        assert (member.mac, member.ip) == (worker.envelope.src_mac, worker.envelope.src_ip)
    for config in (config for own in jobs(plan).values() for config in own):
        job = served[config.job]
        assert (config.first_slot, config.slots, config.window) == (0, 33, job.window)
        assert [(m.rank, m.mac, m.ip) for m in config.members] == [(m.rank, m.mac, m.ip) for m in job.members]
    for host in plan.hosts:
        create_host(host)
    for switch in plan.switches:
        create_program(switch)


def test_two_jobs_have_one_server_or_one_each() -> None:
    one = planned("job: {protocol: atp, copies: 2}")
    assert [[job.job for job in server.jobs] for server in one.servers] == [[1, 2]]
    entries = "jobs: [{name: a, hosts: [h1, h2], server: h5}, {name: b, hosts: [h3, h4], server: h6}]"
    two = planned(f"job: {{protocol: atp}}\n{entries}", "topology: {kind: rack, hosts: 6}")
    assert [(server.name, [job.job for job in server.jobs]) for server in two.servers] == [("h5", [1]), ("h6", [2])]


def test_the_salt_follows_from_the_seed() -> None:
    salts = {seed: {worker.salt for worker in workers(planned(seed=seed))} for seed in (1, 2)}
    assert len(salts[1]) == len(salts[2]) == 1
    assert salts[1] != salts[2]
    assert planned(seed=1).workers == planned(seed=1).workers


def test_one_switch_has_one_level() -> None:
    plan = planned()
    ((config,),) = jobs(plan).values()
    assert config.levels is None
    assert config.server is not None
    assert (config.server.rank, config.server.port) == (-1, 4)
    assert {worker.fan_in for worker in workers(plan)} == {(0, 0)}


def test_racks_add_first_and_the_switch_of_the_server_collects() -> None:
    """h6 at leaf3 is the server, and h5 its neighbour."""
    plan = planned("job: {protocol: atp}", FABRIC)
    racks = ((0, 1), (2, 3), (4,))
    found = {name: own[0].levels for name, own in jobs(plan).items() if own}
    assert found == {
        "leaf1": RackLevels(racks, 0, False),
        "leaf2": RackLevels(racks, 1, False),
        "leaf3": RackLevels(racks, 2, True),
    }
    assert [worker.fan_in for worker in workers(plan)] == [(2, 3)] * 4 + [(1, 3)]


def test_a_server_may_be_alone_at_its_switch() -> None:
    plan = planned("job: {protocol: atp, hosts: [h1, h2], server: h5}", FABRIC)
    assert {name: own[0].levels for name, own in jobs(plan).items() if own} == {
        "leaf1": RackLevels(((0, 1),), 0, False),
        "leaf3": RackLevels(((0, 1),), None, True),
    }
    assert [worker.fan_in for worker in workers(plan)] == [(2, 1)] * 2


def test_where_nothing_sums_the_server_sends_to_each() -> None:
    plan = planned(program="forward")
    assert not any(jobs(plan).values())
    assert not plan.servers[0].jobs[0].multicast
    assert planned().servers[0].jobs[0].multicast


def test_what_one_scale_makes_of_floats_saturates() -> None:
    plan = planned("job: {protocol: atp, quantisation: 'fixed:1e6'}")
    assert {(worker.fixed_scale, worker.collective.arithmetic.dtype) for worker in workers(plan)} == {(1e6, "float32")}
    told = [job.arithmetic.dtype for server in plan.servers for job in server.jobs]
    told += [job.arithmetic.dtype for switch in plan.switches for job in switch.jobs]
    assert set(told) == {"int32sat"}
    plain = planned("job: {protocol: atp, quantisation: exponents}")
    assert {worker.fixed_scale for worker in workers(plain)} == {None}
    assert {job.arithmetic.dtype for switch in plain.switches for job in switch.jobs} == {"float32"}


def test_keys_arrive() -> None:
    knobs = "{preempt: false, age: shift1, free: ack, ps_copy: false, reminder: false, reclaim: false}"
    plan = planned(
        "job: {protocol: esa, priority: las, priority_x0: 0.5, dtype: int32sat, window_packets: 7}", program="esa",
        switch__knobs=knobs, transport__aimd="false", transport__rto="3ms",
    )  # fmt: skip
    worker = workers(plan)[0]
    assert (worker.priority, worker.priority_x0, worker.aimd, worker.rto_ns, worker.window) == (
        "las",
        0.5,
        False,
        3_000_000,
        7,
    )
    assert {switch.knobs for switch in plan.switches} == {AggregatorKnobs(False, "shift1", "ack", False, False, False)}
    assert not plan.servers[0].jobs[0].remind
    assert planned("job: {protocol: esa}", program="esa").servers[0].jobs[0].remind
    assert not planned().servers[0].jobs[0].remind, "reminders are ESA's"


def test_links_of_sums_count_once() -> None:
    """What bounds a job is not the link to the server, where one sum goes for all; without a switch that sums it is."""
    up, down = ("h1-s1", Direction.UP), ("h5-s1", Direction.DOWN)
    assert {data_flows(planned())[use] for use in (up, down)} == {1}
    assert data_flows(planned(program="forward"))[down] == 4
    assert data_flows(planned("job: {protocol: atp, copies: 2}"))[down] == 2


def test_a_server_in_its_second_life_knows_it() -> None:
    (server,) = planned().servers
    assert server.reborn(0) == server
    assert server.reborn(2) == replace(server, lives=2)
