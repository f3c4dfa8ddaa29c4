"""What the hosts of DLCP jobs are told."""

from __future__ import annotations

import pytest

from testbed.plan import Plan, make_plan
from testbed.protocols.dlcp import PROTOCOL
from testbed.scenario import load_scenario, parse_scenario
from workloads.dlcp import DlcpConfig

RUN = """
name: plan
topology: {kind: spine_leaf, leaves: 2, hosts_per_leaf: 3, spines: 2}
switch: {program: forward}
transport: {path_mtu: 256}
job: {protocol: dlcp, size: 2560B, JOB}
"""
ADDING = RUN.replace("forward}", "dlcp, memory: 8}").replace("JOB", "over: ina, slot_timer: 2ms")


def plan_of(job: str = "window_packets: 64") -> Plan:
    return make_plan(parse_scenario(RUN.replace("JOB", job), "plan.yaml"))


def hosts(plan: Plan) -> list[DlcpConfig]:
    return [worker for worker in plan.workers if isinstance(worker, DlcpConfig)]


def test_the_last_host_serves_and_has_a_gradient_too() -> None:
    *workers, server = hosts(plan_of())
    assert [host.is_server for host in (*workers, server)] == [False] * 5 + [True]
    assert [peer.dst_ip for peer in server.peers] == [worker.peers[0].src_ip for worker in workers]
    assert {worker.peers[0].dst_ip for worker in workers} == {server.peers[0].src_ip}
    assert server.sends == ()
    assert all(worker.sends == worker.peers for worker in workers)


def test_keys_reach_the_hosts() -> None:
    for host in hosts(plan_of("loss_bound: 5%, important: 25%, window_packets: 3")):
        assert (host.loss_bound, host.important, host.window, host.elements) == (0.05, 0.25, 3, 64)
    assert {host.window for host in hosts(plan_of())} == {10}, "packets of a gradient"
    assert {host.loss_bound for host in hosts(plan_of())} == {0.01}


def test_several_jobs_have_a_server_each() -> None:
    plan = plan_of("copies: 2")
    assert [host.name for host in hosts(plan) if host.is_server] == ["h3", "h6"]
    assert {len(group) for group in plan.groups.values()} == {3}


def test_the_bound_of_the_goodput() -> None:
    """A link has one vector at a time, of which a share need not come."""
    assert PROTOCOL.bound(plan_of("loss_bound: 20%"), 8e6) == pytest.approx(5e6)
    ring = PROTOCOL.bound(plan_of("over: ring, loss_bound: 20%"), 8e6)
    assert ring == pytest.approx(8e6 * 6 / 10 / 0.8), "6 hosts: 10 steps of a sixth"
    adding = PROTOCOL.bound(make_plan(parse_scenario(ADDING, "plan.yaml")), 8e6)
    assert adding == pytest.approx(8e6 / 1.2 / 0.99), "one sum to the server, five from it"


def test_switches_are_told_who_is_at_their_ports() -> None:
    plan = make_plan(parse_scenario(ADDING, "plan.yaml"))
    racks = {switch.name: switch.jobs[0].levels for switch in plan.switches if switch.jobs}
    assert {name: levels and levels.racks[levels.own or 0] for name, levels in racks.items()} == {
        "leaf1": (0, 1, 2), "leaf2": (3, 4),
    }  # fmt: skip
    (job, *_) = (switch.jobs[0] for switch in plan.switches if switch.jobs)
    assert (job.partial_after_ns, job.window, job.slots) == (2_000_000, 10, 8)
    assert {host.service_ip for host in hosts(plan)} == {job.service_ip}
    assert {host.service_ip for host in hosts(plan_of())} == {b""}


def test_alone_in_a_rack_there_is_nothing_to_add() -> None:
    text = ADDING.replace("hosts_per_leaf: 3", "hosts_per_leaf: 2")
    plan = make_plan(parse_scenario(text, "plan.yaml"))
    assert [switch.name for switch in plan.switches if switch.jobs] == ["leaf1"], "the other one is the server's"


def test_a_rank_of_a_ring_knows_its_neighbours() -> None:
    ranks = hosts(plan_of("over: ring"))
    addresses = [rank.peers[0].src_ip for rank in ranks]
    for number, rank in enumerate(ranks):
        assert [peer.dst_ip for peer in rank.peers] == [addresses[(number + 1) % 6], addresses[number - 1]]
        assert rank.sends == rank.peers[:1]
        assert not rank.is_server


def test_a_slot_waits_a_part_of_the_timer() -> None:
    plan = make_plan(load_scenario("dlcp-ina", world="simulated"))
    jobs = [job for switch in plan.switches for job in switch.jobs]
    (rto_ns,) = (timer.ns for timer in plan.timers.each if timer.key == "rto")
    assert {job.partial_after_ns for job in jobs} == {rto_ns // 8}


def test_a_late_worker_lengthens_no_timer() -> None:
    """Hosts acknowledge at once."""
    plan = make_plan(load_scenario("dlcp-ina", world="simulated"))
    assert {worker.workload.straggle_ns for worker in plan.workers} == {0, 20_000_000}
    assert plan.timers.trip.slower_ns == 0
