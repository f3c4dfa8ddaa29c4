from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.config import LeafLinks, RingMember, SpineLinks
from testbed.plan import Plan, make_plan
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from topologies import LinkShape, rack, spine_leaf


def plan_of(hosts: int = 4, seed: int = 1, **changes: object) -> Plan:
    scenario = Scenario("t", rack(hosts, LinkShape()), LinkShape(), seed=seed)
    return make_plan(replace(scenario, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("hosts", [2, 3, 8, 32])
def test_both_ends_of_every_connection_agree(hosts: int) -> None:
    workers = plan_of(hosts).workers
    for rank, worker in enumerate(workers):
        sender, receiver = worker.to_successor, workers[(rank + 1) % hosts].from_predecessor
        assert (sender.qpn, sender.peer_qpn) == (receiver.peer_qpn, receiver.qpn)
        assert sender.first_psn == receiver.peer_first_psn
        assert (sender.envelope.src_ip, sender.envelope.dst_ip) == (receiver.envelope.dst_ip, receiver.envelope.src_ip)
        peer = workers[(rank + 1) % hosts].collective
        assert (worker.collective.peer_rkey, worker.collective.peer_base_va) == (peer.rkey, peer.base_va)


def test_queue_pair_numbers_are_unique_and_not_special() -> None:
    numbers = [qp.qpn for w in plan_of(32).workers for qp in (w.to_successor, w.from_predecessor)]
    assert len(set(numbers)) == 64
    assert min(numbers) > 1


def test_the_seed_decides_everything() -> None:
    assert plan_of(seed=5) == plan_of(seed=5)
    assert plan_of(seed=5).workers[0].to_successor.first_psn != plan_of(seed=6).workers[0].to_successor.first_psn


def test_a_first_psn_can_be_given() -> None:
    workers = plan_of(transport=Transport(start_psn=0xFFFFFC)).workers
    assert {worker.to_successor.first_psn for worker in workers} == {0xFFFFFC}


def test_only_the_straggler_straggles() -> None:
    workers = plan_of(job=Job(straggler=Straggler(2, 7))).workers
    assert [worker.workload.straggle_ns for worker in workers] == [0, 0, 7, 0]


def test_the_switch_knows_ring_members_by_address_and_port() -> None:
    plan = plan_of(3)
    (switch,) = plan.switches
    (ring,) = switch.rings
    assert [(m.rank, m.ip, m.port) for m in ring.members] == [
        (rank, host.ip, rank) for rank, host in enumerate(plan.scenario.topology.hosts)
    ]
    assert [port for _, port in switch.macs] == [0, 1, 2]


def test_a_connection_names_requests_and_answers() -> None:
    plan = plan_of(3)
    for connection, worker in zip(plan.connections, plan.workers, strict=True):
        qp = worker.to_successor
        assert connection.requests == (qp.envelope.src_ip, qp.envelope.dst_ip, qp.peer_qpn)
        assert connection.answers == (qp.envelope.dst_ip, qp.envelope.src_ip, qp.qpn)
        assert connection.first_psn == qp.first_psn


def test_a_leaf_reaches_its_own_hosts_by_one_port_and_all_others_by_every_spine() -> None:
    topology = spine_leaf([2, 1], 3, LinkShape())
    switches = {config.name: config for config in plan_of(topology=topology).switches}
    h1, h2, h3 = (host.mac for host in topology.hosts)
    leaf, spine = switches["leaf1"], switches["spine2"]
    assert (leaf.macs, leaf.groups) == (((h1, 0), (h2, 1)), ((h3, (2, 3, 4)),))
    assert (spine.macs, spine.groups) == (((h1, 0), (h2, 0), (h3, 1)), ())
    # The tree begins at spine3; the other spines hang on leaf1.
    assert (leaf.ports, leaf.flood_ports, spine.flood_ports) == (5, (0, 1, 2, 3, 4), (0,))
    assert switches["leaf2"].flood_ports == (0, 3)
    assert len({config.flow_salt for config in switches.values()}) == len(switches)


def test_leaves_sum_racks_and_spines_the_racks_sums() -> None:
    plan = plan_of(topology=spine_leaf((3, 1, 2), 2, LinkShape()))
    rings = {config.name: config.rings[0] for config in plan.switches}
    ips = [host.ip for host in plan.scenario.topology.hosts]
    members = {name: [(member.rank, member.ip, member.port) for member in ring.members] for name, ring in rings.items()}
    assert plan.racks == (3, 1, 2)
    assert members["leaf1"] == [(0, ips[0], 0), (1, ips[1], 1), (2, ips[2], 2)]
    assert members["leaf2"] == [(3, ips[3], 0)]
    assert members["spine1"] == members["spine2"] == [(2, ips[2], 0), (3, ips[3], 1), (5, ips[5], 2)]
    leaf, spine = rings["leaf2"].links, rings["spine2"].links
    assert leaf == LeafLinks(6, (1, 2), RingMember(2, ips[2], -1), ips[4])
    assert spine == SpineLinks(6, (ips[3], ips[4], ips[0]), 1, 2)


def test_the_network_of_a_ring_all_reduce_sums_nothing() -> None:
    job, switch = Job(protocol="ring"), SwitchOptions(program="forward")
    plan = plan_of(topology=spine_leaf((2, 1), 3, LinkShape()), job=job, switch=switch)
    assert {config.rings for config in plan.switches} == {()}
    assert plan.racks == ()


def test_one_switch_floods_everywhere_and_needs_no_groups() -> None:
    (switch,) = plan_of(3).switches
    assert (switch.flood_ports, switch.groups) == (None, ())


def test_the_connections_of_a_fabric_are_those_of_a_rack() -> None:
    """What connections draw from the seed does not depend on what lies between the hosts."""
    assert plan_of(topology=spine_leaf((4, 12), 2, LinkShape())).connections == plan_of(16).connections
