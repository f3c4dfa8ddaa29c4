from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.plan import Plan, make_plan
from testbed.plan.rings import planned_rings
from testbed.protocols.parts.plan_scheduled import slowest_host_bps
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from tests.support.schedules import SCHEDULES
from topologies import LinkShape, rack

SHAPE = LinkShape()


def plan_of(protocol: str, hosts: int, seed: int = 1, recovery: str = "gbn") -> Plan:
    return make_plan(
        Scenario(
            "t", rack(hosts, SHAPE), SHAPE, seed=seed, switch=SwitchOptions("forward"),
            job=Job(protocol=protocol, size_bytes=400), transport=Transport(recovery=recovery),
        )
    )  # fmt: skip


@pytest.mark.parametrize("protocol", SCHEDULES)
def test_every_phase_of_the_schedule_is_a_ring_of_two(protocol: str) -> None:
    plan = plan_of(protocol, 6)
    told = {
        (ring.phase, ring.collective.kind, ring.names, ring.members[0].workload.elements)
        for ring in planned_rings(plan.workers)
    }
    schedule = SCHEDULES[protocol](6, 100)
    assert told == {
        (phase.name, phase.kind, tuple(f"h{rank + 1}" for rank in phase.ranks), phase.elements) for phase in schedule
    }
    for rank, worker in enumerate(plan.workers):
        assert [part.collective.phase for part in worker.parts] == [
            phase.name for phase in schedule if rank in phase.ranks
        ]


def test_the_hosts_of_the_job_take_part_in_their_order() -> None:
    scenario = plan_of("recursive_doubling", 4).scenario
    plan = make_plan(replace(scenario, job=replace(scenario.job, hosts=("h4", "h2"))))
    assert [(worker.name, worker.collective.rank, worker.collective.size) for worker in plan.workers] == [
        ("h4", 0, 2), ("h2", 1, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("recovery", ["gbn", "irn", "irn-rack"])
def test_both_ends_of_every_connection_agree(recovery: str) -> None:
    plan, numbers = plan_of("rabenseifner", 5, recovery=recovery), list[int]()
    for ring in planned_rings(plan.workers):
        for own, peer in (ring.members, ring.members[::-1]):
            there, here = own.to_successor, peer.from_predecessor
            assert (there.qpn, there.peer_qpn, there.first_psn) == (here.peer_qpn, here.qpn, here.peer_first_psn)
            assert there.recovery == here.recovery == recovery
            assert there.irn == here.irn
            assert (own.collective.peer_rkey, own.collective.peer_base_va) == (
                peer.collective.rkey, peer.collective.base_va,
            )  # fmt: skip
            numbers += there.qpn, here.qpn
    assert len(set(numbers)) == len(numbers) == 2 * len(plan.connections)


def test_the_timers_of_irn_are_those_of_the_longest_way_of_a_pair() -> None:
    """h1 and h3 are far from the switch. They meet, and are no neighbours in a ring: there and back is 8 ms."""
    scenario = plan_of("recursive_doubling", 4, recovery="irn").scenario
    links = tuple(
        replace(link, shape=replace(link.shape, delay_ns=2_000_000)) if link.name in ("h1-s1", "h3-s1") else link
        for link in scenario.topology.links
    )
    transport = replace(scenario.transport, rto_low_ns=None, rto_high_ns=None)
    far = make_plan(replace(scenario, transport=transport, topology=replace(scenario.topology, links=links)))
    assert far.ring_workers[0].to_successor.irn.rto_low_ns > 2 * 8_000_000


def test_the_seed_decides_everything() -> None:
    one, same, other = (plan_of("rabenseifner", 6, seed) for seed in (5, 5, 6))
    assert one.workers == same.workers
    assert {qp.qpn for worker in one.ring_workers for qp in worker.queue_pairs} != {
        qp.qpn for worker in other.ring_workers for qp in worker.queue_pairs
    }


def test_the_slowest_link_of_a_host_counts_once_however_many_steps_use_it() -> None:
    plan = plan_of("recursive_doubling", 8)
    assert slowest_host_bps(plan) == pytest.approx(SHAPE.rate_bps * 1024 / 1082)
