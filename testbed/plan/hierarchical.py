"""The plan of a collective of phases over machines of several workers: rings inside machines, rings between them, and
what the rack's switch is told. Which worker holds which piece after a phase follows from
`workloads.collectives.schedules`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from switch_nodes.config import RingConfig, RingMember, SwitchConfig
from testbed.plan.connections import plan_connections
from testbed.plan.jobs import plan_jobs
from testbed.plan.model import Plan
from testbed.plan.pairs import BASE_VA, queue_pair
from testbed.plan.switches import plan_switches
from testbed.scenario.model import Scenario
from topologies import Node, machine_groups
from workloads.collectives.arithmetic import ELEMENT_BYTES
from workloads.collectives.kinds import ring_kind
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ArithmeticSpec, CollectiveConfig, PhaseConfig, WorkerConfig, WorkloadConfig
from workloads.wire import PSN_MODULUS

__all__ = ["plan_masters", "plan_parallel"]


@dataclass(frozen=True, slots=True)
class _Ring:
    """One ring of one phase."""

    phase: str
    kind: str
    ring_id: int
    """no other ring of the plan has it; those on the rack's switch count from 1"""
    hosts: tuple[Node, ...]
    """rank order"""
    first_element: int
    elements: int


def plan_parallel(scenario: Scenario) -> Plan:
    """Each worker of a machine sums a piece of the gradient with its peers in other machines, in the rack's switch. The
    rings of all phases are drawn from the seed."""
    return _plan(scenario, _pieces)


def plan_masters(scenario: Scenario) -> Plan:
    """The first worker of each machine sums for it, and then with the other masters. The rings of all phases are drawn
    from the seed."""
    return _plan(scenario, _masters)


def _plan(scenario: Scenario, rings: Callable[[Sequence[Sequence[Node]], int], _Phases]) -> Plan:
    (only,) = plan_jobs(scenario)
    found = _rings(scenario, rings, only.workloads[0].elements)
    workers = _workers(scenario, found, only.workloads)
    return Plan(scenario, workers, _switches(scenario, workers), plan_connections(workers))


def _workers(
    scenario: Scenario, rings: Sequence[_Ring], workloads: Sequence[WorkloadConfig]
) -> tuple[WorkerConfig, ...]:
    """Workers in rank order with the queue pairs of all their phases, drawn from the seed. `workloads`: of each
    rank."""
    hosts, job = scenario.topology.hosts, scenario.job
    seats = sum(len(ring.hosts) for ring in rings)
    draw = random.Random(f"phases {scenario.seed}")
    qpns = iter(draw.sample(range(0x100, 0x10000), 2 * seats))
    rkeys = iter(draw.sample(range(1 << 32), seats))
    phases: dict[str, list[PhaseConfig]] = {host.name: [] for host in hosts}
    for ring in rings:
        for host, phase in zip(ring.hosts, _phases(scenario, ring, draw, qpns, rkeys), strict=True):
            phases[host.name].append(phase)
    return tuple(
        WorkerConfig(
            name=host.name,
            to_successor=phases[host.name][0].to_successor,
            from_predecessor=phases[host.name][0].from_predecessor,
            collective=CollectiveConfig(
                kind=job.collective,
                ring_id=0,
                rank=rank,
                size=len(hosts),
                arithmetic=ArithmeticSpec(job.op, job.dtype),
                message_packets=job.message_packets,
                window_messages=job.window_messages,
                verb=scenario.transport.verb,
                credit=job.credit,
                hello=job.hello,
                receive_late_ns=scenario.transport.receive_late_ns,
                pipelined=job.pipelined,
            ),
            workload=workload,
            phases=tuple(phases[host.name]),
        )
        for rank, (host, workload) in enumerate(zip(hosts, workloads, strict=True))
    )


def _switches(scenario: Scenario, workers: Sequence[WorkerConfig]) -> tuple[SwitchConfig, ...]:
    """Plain switches in the machines. The rack's switch runs the scenario's program, with one ring for each place in a
    machine where switches sum; the members of a ring are behind the machines' uplinks."""
    plain = replace(scenario, switch=replace(scenario.switch, program="forward"))
    arithmetic = ArithmeticSpec(scenario.job.op, scenario.job.dtype)
    configs = plan_switches(plain, arithmetic)
    if not any(ring_kind(part.collective.kind).is_summed for part in workers[0].parts):
        return configs
    (rack,) = (node.name for node in scenario.topology.switches if node.part == "rack")
    return tuple(
        replace(config, program=scenario.switch.program, rings=_switch_rings(scenario, workers, dict(config.macs)))
        if config.name == rack
        else config
        for config in configs
    )


def _switch_rings(
    scenario: Scenario, workers: Sequence[WorkerConfig], ports: dict[bytes, int]
) -> tuple[RingConfig, ...]:
    members: dict[int, list[RingMember]] = {}
    for worker in workers:
        for part in worker.parts:
            if ring_kind(part.collective.kind).is_summed:
                envelope, seat = part.to_successor.envelope, part.collective
                member = RingMember(seat.rank, envelope.src_ip, ports[envelope.src_mac])
                members.setdefault(seat.ring_id, []).append(member)
    job = scenario.job
    return tuple(
        RingConfig(
            ring_id,
            tuple(sorted(found, key=lambda member: member.rank)),
            ArithmeticSpec(job.op, job.dtype),
            job.message_packets,
            job.window_messages,
            scenario.transport.path_mtu,
        )
        for ring_id, found in sorted(members.items())
    )


_Named: TypeAlias = tuple[str, str, Sequence[Node]]
"""(phase, kind, hosts by rank) of a ring inside a machine"""
_Phases: TypeAlias = tuple[list[_Named], list[_Ring], list[_Named]]
"""rings inside machines before, those between machines, and those inside machines after"""


def _rings(scenario: Scenario, rings: Callable[[Sequence[Sequence[Node]], int], _Phases], elements: int) -> list[_Ring]:
    """In the order of the phases of every worker."""
    groups = machine_groups(scenario.topology)
    each = len(groups[0])
    inside = range(each + 1, each + 1 + 2 * len(groups))
    before, between, after = rings(groups, elements)
    if each == 1:
        before, after = [], []  # a machine of one worker has nothing to do inside
    outer = [
        _Ring(phase, kind, number, tuple(group), 0, elements)
        for number, (phase, kind, group) in zip(inside, (*before, *after), strict=False)
    ]
    return [*outer[: len(before)], *between, *outer[len(before) :]]


def _masters(groups: Sequence[Sequence[Node]], elements: int) -> _Phases:
    """The master is a machine's first worker; a chain leads from the last one to it."""
    between = [_Ring("masters", "ring", 1, tuple(group[0] for group in groups), 0, elements)]
    return (
        [("reduce", "chain_reduce", group[::-1]) for group in groups],
        between,
        [("broadcast", "chain_broadcast", group) for group in groups],
    )


def _pieces(groups: Sequence[Sequence[Node]], elements: int) -> _Phases:
    each, between = len(groups[0]), []
    pieces = [(start // ELEMENT_BYTES, stop // ELEMENT_BYTES) for start, stop in chunk_bounds(elements, each)]
    for place in range(each):
        first, behind = pieces[(place + 1) % each]
        hosts = tuple(group[place] for group in groups)
        between.append(_Ring("netreduce", "netreduce", place + 1, hosts, first, behind - first))
    return (
        [("reduce_scatter", "reduce_scatter", group) for group in groups],
        between,
        [("all_gather", "all_gather", group) for group in groups],
    )


def _phases(
    scenario: Scenario, ring: _Ring, draw: random.Random, qpns: Iterator[int], rkeys: Iterator[int]
) -> list[PhaseConfig]:
    """Of the hosts of one ring, in rank order."""
    job, transport, hosts = scenario.job, scenario.transport, ring.hosts
    size = len(hosts)
    sending, receiving, keys = (list(islice(numbers, size)) for numbers in (qpns, qpns, rkeys))
    sports = [draw.randrange(0xC000, 0x10000) for _ in range(2 * size)]
    psns = [
        draw.randrange(PSN_MODULUS) if transport.start_psn is None else transport.start_psn % PSN_MODULUS for _ in hosts
    ]
    phases = []
    for rank, host in enumerate(hosts):
        after, before = (rank + 1) % size, (rank - 1) % size
        phases.append(
            PhaseConfig(
                to_successor=queue_pair(
                    scenario, host, hosts[after], qpn=sending[rank], peer_qpn=receiving[after], sport=sports[rank],
                    first_psn=psns[rank], peer_first_psn=0,
                ),
                from_predecessor=queue_pair(
                    scenario, host, hosts[before], qpn=receiving[rank], peer_qpn=sending[before],
                    sport=sports[size + rank], first_psn=0, peer_first_psn=psns[before],
                ),
                collective=CollectiveConfig(
                    kind=ring.kind,
                    ring_id=ring.ring_id,
                    rank=rank,
                    size=size,
                    arithmetic=ArithmeticSpec(job.op, job.dtype),
                    message_packets=job.message_packets,
                    window_messages=job.window_messages,
                    verb=transport.verb,
                    credit=job.credit,
                    hello=job.hello,
                    peer_base_va=BASE_VA,
                    peer_rkey=keys[after],
                    base_va=BASE_VA,
                    rkey=keys[rank],
                    receive_late_ns=transport.receive_late_ns,
                    phase=ring.phase,
                    pipelined=job.pipelined,
                ),
                first_element=ring.first_element,
                elements=ring.elements,
            )
        )  # fmt: skip
    return phases
