from __future__ import annotations

from collections.abc import Callable

import pytest

from testbed.plan import Plan, make_plan
from testbed.plan.rings import PlannedRing, planned_rings
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from tests.support.flow_path import flow_path
from topologies import LinkShape, machines

SHAPE = LinkShape()


def plan_of(protocol: str, count: int = 3, each: int = 2, seed: int = 1, elements: int = 25) -> Plan:
    program = "netreduce" if protocol == "parallel_netreduce" else "forward"
    return make_plan(
        Scenario(
            "t", machines(count, each, SHAPE), SHAPE, seed=seed, switch=SwitchOptions(program),
            job=Job(protocol=protocol, size_bytes=4 * elements), transport=Transport(),
        )
    )  # fmt: skip


def phases(plan: Plan) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(ring.phase, ring.collective.kind, ring.names) for ring in planned_rings(plan.workers)]


def test_parallel_netreduce_has_rings_in_machines_and_one_for_each_place_between_them() -> None:
    assert phases(plan_of("parallel_netreduce", 2, 3)) == [
        ("reduce_scatter", "reduce_scatter", ("h1", "h2", "h3")),
        ("netreduce", "netreduce", ("h1", "h4")),
        ("all_gather", "all_gather", ("h1", "h2", "h3")),
        ("netreduce", "netreduce", ("h2", "h5")),
        ("netreduce", "netreduce", ("h3", "h6")),
        ("reduce_scatter", "reduce_scatter", ("h4", "h5", "h6")),
        ("all_gather", "all_gather", ("h4", "h5", "h6")),
    ]


def test_tencent_has_chains_to_and_from_the_first_worker_and_a_ring_of_those() -> None:
    plan = plan_of("tencent", 2, 3)
    assert phases(plan) == [
        ("reduce", "chain_reduce", ("h3", "h2", "h1")),
        ("masters", "ring", ("h1", "h4")),
        ("broadcast", "chain_broadcast", ("h1", "h2", "h3")),
        ("reduce", "chain_reduce", ("h6", "h5", "h4")),
        ("broadcast", "chain_broadcast", ("h4", "h5", "h6")),
    ]
    assert [[part.collective.phase for part in worker.parts] for worker in plan.workers[:2]] == [
        ["reduce", "masters", "broadcast"], ["reduce", "broadcast"],
    ]  # fmt: skip


@pytest.mark.parametrize(("protocol", "phase"), [("parallel_netreduce", "netreduce"), ("tencent", "masters")])
def test_a_machine_of_one_worker_has_nothing_to_do_inside(protocol: str, phase: str) -> None:
    assert [(name, names) for name, _, names in phases(plan_of(protocol, 3, 1))] == [(phase, ("h1", "h2", "h3"))]


def test_the_pieces_of_a_machine_are_the_gradient() -> None:
    plan = plan_of("parallel_netreduce", 2, 3, elements=25)
    pieces = [(w.phases[1].first_element, w.phases[1].elements) for w in plan.workers]
    assert pieces == [(9, 8), (17, 8), (0, 9)] * 2
    assert {(p.first_element, p.elements) for w in plan.workers for p in (w.phases[0], w.phases[2])} == {(0, 25)}


def everything(ring: PlannedRing, of: Callable[[int], tuple[bytes, bytes, int]]) -> list[tuple[bytes, bytes, int]]:
    return [of(rank) for rank in range(len(ring.members))]


@pytest.mark.parametrize("protocol", ["parallel_netreduce", "tencent"])
def test_both_ends_of_every_connection_agree(protocol: str) -> None:
    plan = plan_of(protocol)
    flows = []
    for ring in planned_rings(plan.workers):
        for rank, member in enumerate(ring.members):
            after = ring.members[(rank + 1) % len(ring.members)]
            sender, receiver = member.to_successor, after.from_predecessor
            assert (sender.qpn, sender.peer_qpn, sender.first_psn) == (
                receiver.peer_qpn, receiver.qpn, receiver.peer_first_psn,
            )  # fmt: skip
            assert (sender.envelope.src_ip, sender.envelope.dst_ip) == (
                receiver.envelope.dst_ip, receiver.envelope.src_ip,
            )  # fmt: skip
            assert (member.collective.peer_rkey, member.collective.peer_base_va) == (
                after.collective.rkey, after.collective.base_va,
            )  # fmt: skip
        flows += everything(ring, ring.requests) + everything(ring, ring.answers)
    assert len(set(flows)) == len(flows) == 2 * len(plan.connections)
    assert {connection.requests for connection in plan.connections} < set(flows)
    numbers = [qp.qpn for worker in plan.workers for qp in worker.queue_pairs]
    assert len(set(numbers)) == len(numbers)


def test_a_connection_has_the_rank_of_its_sender_in_the_job() -> None:
    plan = plan_of("parallel_netreduce")
    names = {host.ip: host.name for host in plan.scenario.topology.hosts}
    assert [(c.rank, names[c.requests[0]]) for c in plan.connections] == [(i // 3, f"h{i // 3 + 1}") for i in range(18)]


def test_the_rack_sums_one_ring_for_each_place_and_machines_only_forward() -> None:
    plan = plan_of("parallel_netreduce")
    switches = {config.name: config for config in plan.switches}
    assert [(name, config.program, len(config.rings)) for name, config in switches.items()] == [
        ("m1", "forward", 0), ("m2", "forward", 0), ("m3", "forward", 0), ("s1", "netreduce", 2),
    ]  # fmt: skip
    ips = [host.ip for host in plan.scenario.topology.hosts]
    assert [[(m.rank, m.ip, m.port) for m in ring.members] for ring in switches["s1"].rings] == [
        [(0, ips[0], 0), (1, ips[2], 1), (2, ips[4], 2)], [(0, ips[1], 0), (1, ips[3], 1), (2, ips[5], 2)],
    ]  # fmt: skip
    assert [ring.ring_id for ring in switches["s1"].rings] == [1, 2]
    assert {config.program for config in plan_of("tencent").switches} == {"forward"}


def test_what_goes_between_workers_of_a_machine_stays_in_it() -> None:
    plan = plan_of("parallel_netreduce")
    ways = {
        part.collective.phase: [link for link, _ in flow_path(plan, "h1", part.to_successor.envelope)]
        for part in plan.workers[0].parts
    }
    assert ways == {
        "reduce_scatter": ["h1-m1", "h2-m1"],
        "netreduce": ["h1-m1", "m1-s1", "m2-s1", "h3-m2"],
        "all_gather": ["h1-m1", "h2-m1"],
    }


def test_the_seed_decides_everything() -> None:
    one, same, other = (plan_of("parallel_netreduce", seed=seed) for seed in (5, 5, 6))
    assert one == same
    assert one.workers[0].phases[1].to_successor.first_psn != other.workers[0].phases[1].to_successor.first_psn
