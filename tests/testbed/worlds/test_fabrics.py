"""Rings over several switches, in both worlds: bit-exact, faults on every kind of link, and the paths that the tables
name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from switch_nodes.events import SwitchStatistics
from testbed.captures.pcapng import Interface, read_capture
from testbed.faults.events import FaultStruck
from testbed.faults.model import Burst, Corrupt, Duplicate, Fault, Loss, Reorder
from testbed.history.events import TimeLimitReached
from testbed.plan import Plan, make_plan
from testbed.plan.paths import LinkUse
from testbed.runs.run import run_scenario
from testbed.scenario import Scenario, parse_scenario
from testbed.worlds.simulated import simulate
from tests.support.emulated import needs_root
from tests.support.flow_path import flow_path
from tests.support.passing import assert_passes
from tests.support.simulation import digests, expected_digests, of, rack_plan
from topologies import Direction, LinkShape, Topology, fat_tree, spine_leaf
from workloads.events import CollectiveCompleted, FrameRejected, NakSent, QpFailed, Retransmission, WorkerFailed
from workloads.rc.captured import FrameRole, parse_frame

SHAPE, QUICK = LinkShape(), {"timeout_code": 12}
FABRICS = [spine_leaf([2, 1, 3], 2, SHAPE), fat_tree(4, SHAPE)]


def plan_of(topology: Topology, protocol: str, *faults: Fault, seed: int = 1) -> Plan:
    job = {"protocol": protocol, "size_bytes": 20_000, "message_packets": 8}
    return rack_plan(seed=seed, topology=topology, job=job, faults=faults, transport=QUICK)


def check(plan: Plan) -> list[dict[str, Any]]:
    records = simulate(plan)
    assert not of(records, WorkerFailed, TimeLimitReached, QpFailed)
    assert digests(records) == expected_digests(plan)
    return records


@pytest.mark.parametrize("protocol", ["ring", "shift"])
@pytest.mark.parametrize("topology", FABRICS, ids=lambda topology: topology.kind)
def test_without_faults_nothing_is_sent_twice(topology: Topology, protocol: str) -> None:
    """So no path reorders, and no frame is flooded."""
    records = check(plan_of(topology, protocol))
    assert not of(records, Retransmission, NakSent, FrameRejected)
    told = of(records, SwitchStatistics)
    assert len(told) == len(topology.switches)
    assert {record.event.counters["flooded"] for record in told} == {0}


@pytest.mark.parametrize("protocol", ["ring", "shift"])
@pytest.mark.parametrize("topology", FABRICS, ids=lambda topology: topology.kind)
def test_every_packet_fault_between_switches(topology: Topology, protocol: str) -> None:
    hosts = {host.name for host in topology.hosts}
    links = tuple(link.name for link in topology.links if link.a not in hosts)
    kinds = (
        Loss("loss", links, rate=0.02), Burst("burst", links, rate=0.01), Corrupt("corrupt", links, rate=0.01),
        Duplicate("duplicate", links, rate=0.01, delay_ns=50_000), Reorder("reorder", links, rate=0.01,
            delay_ns=300_000),
    )  # fmt: skip
    records = check(plan_of(topology, protocol, *kinds))
    struck = of(records, FaultStruck)
    assert {record.event.fault for record in struck} == {fault.name for fault in kinds}
    # Each direction is served where it is received.
    ends = {link.name: {"up": link.b, "down": link.a} for link in topology.links}
    assert all(record.node == ends[record.event.target][record.event.direction] for record in struck)
    assert {record.event.direction for record in struck} == {"up", "down"}


def test_the_delay_of_an_uplink_is_felt_between_racks_only() -> None:
    far = spine_leaf([2, 2], 1, SHAPE, replace(SHAPE, delay_ns=5_000_000))
    near, slow = (check(plan_of(topology, "shift")) for topology in (spine_leaf([2, 2], 1, SHAPE), far))
    ends = [{r.node: r.event.completed_ns for r in of(records, CollectiveCompleted)} for records in (near, slow)]
    assert ends[1]["h3"] - ends[0]["h3"] >= 10_000_000


@pytest.mark.parametrize("topology", FABRICS, ids=lambda topology: topology.kind)
def test_one_history_of_one_seed(topology: Topology) -> None:
    plan = plan_of(topology, "ring", Loss("loss", tuple(link.name for link in topology.links), rate=0.01), seed=4)
    assert simulate(plan) == simulate(plan)


SCENARIO = """\
name: paths
topology: {kind: spine_leaf, leaves: 3, spines: 2, hosts_per_leaf: [1, 2, 1], link: {rate: 20Mbps}, uplink: {delay: 200us}}
switch: {program: forward}
transport: {timeout: 15}
job: {protocol: ring, size: 40kB, message_packets: 8, window_messages: 4}
faults:
  - {kind: loss, name: host-links, links: [h1-leaf1, h3-leaf2], rate: 6%}
  - {kind: loss, name: uplinks, links: [leaf1-spine1, leaf1-spine2, leaf2-spine1, leaf2-spine2], rate: 6%}
time_limit: 20s
"""  # noqa: E501


def paths_taken(captures: Iterable[Path], plan: Plan) -> dict[tuple[bytes, bytes, int], set[LinkUse]]:
    """By flow, from what left the switches."""
    links = {link.name: link for link in plan.scenario.topology.links}
    taken: dict[tuple[bytes, bytes, int], set[LinkUse]] = {}
    for path in captures:
        interfaces: list[Interface] = []
        for seen in read_capture(path, interfaces):
            frame = parse_frame(seen.frame)
            if not seen.outgoing or seen.comment or frame is None or frame.role is FrameRole.OTHER:
                continue
            link, switch = links[interfaces[seen.interface].name], path.parent.name
            assert switch in (link.a, link.b)
            way = Direction.UP if link.a == switch else Direction.DOWN
            taken.setdefault(frame.connection, set()).add((link.name, way))
    return taken


@pytest.mark.parametrize("world", ["simulated", pytest.param("emulated", marks=needs_root)])
def test_each_flow_takes_the_path_of_the_tables_and_no_other(world: str, tmp_path: Path) -> None:
    scenario: Scenario = parse_scenario(SCENARIO, "paths.yaml", world=world)
    result = run_scenario(scenario, tmp_path / "run", pcap=True)
    assert_passes(result.document)
    assert all(fault["strikes"] for fault in result.document["faults"])
    plan = make_plan(scenario)
    expected: dict[tuple[bytes, bytes, int], set[LinkUse]] = {}
    for worker in plan.workers:
        for qp in (worker.to_successor, worker.from_predecessor):
            flow = (qp.envelope.src_ip, qp.envelope.dst_ip, qp.peer_qpn)
            expected[flow] = set(flow_path(plan, worker.name, qp.envelope)[1:])
    assert paths_taken((tmp_path / "run" / "pcap").glob("*/*.pcapng"), plan) == expected
    assert {link for path in expected.values() for link, _ in path} & {"leaf1-spine1", "leaf1-spine2"}
