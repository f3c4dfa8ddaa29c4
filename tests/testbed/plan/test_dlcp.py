"""What the hosts of DLCP jobs are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.plan import Plan, make_plan
from testbed.protocols.dlcp import PROTOCOL
from testbed.scenario import parse_scenario
from workloads.dlcp import DlcpConfig

RUN = """
name: plan
topology: {kind: spine_leaf, leaves: 2, hosts_per_leaf: 3, spines: 2}
switch: {program: forward}
transport: {path_mtu: 256}
job: {collective: dlcp, size: 2560B, JOB}
"""


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
    assert PROTOCOL.bound is not None
    assert PROTOCOL.bound(plan_of("loss_bound: 20%"), 8e6) == pytest.approx(5e6)
    other = plan_of()
    assert (
        PROTOCOL.bound(replace(other, scenario=replace(other.scenario, job=replace(other.scenario.job, own=None))), 8)
        == 4
    )
