"""The plan of a protocol of phases over machines of several workers.

It has rings inside machines, rings between them, and the configuration of the rack's switch.
`workloads.collectives.schedules` decides which worker holds which piece after a phase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from switch_nodes.config import RingConfig, RingMember, SwitchConfig
from testbed.plan.connections import plan_connections
from testbed.plan.jobs import plan_jobs
from testbed.plan.model import Plan
from testbed.plan.phases import PhaseRing, phased_workers
from testbed.plan.switches import plan_switches
from testbed.scenario.model import Scenario
from topologies import Node, machine_groups
from workloads.collectives.kinds import ring_kind
from workloads.collectives.schedules import chunk_bounds
from workloads.config import ELEMENT_BYTES, ArithmeticSpec, WorkerConfig

__all__ = ["plan_masters", "plan_parallel"]


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
    workers = phased_workers(scenario, scenario.topology.hosts, found, only.workloads, wait_for_acks=False)
    return Plan(scenario, workers, _switches(scenario, workers), plan_connections(workers))


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
_Phases: TypeAlias = tuple[list[_Named], list[PhaseRing], list[_Named]]
"""rings inside machines before, those between machines, and those inside machines after"""


def _rings(
    scenario: Scenario, rings: Callable[[Sequence[Sequence[Node]], int], _Phases], elements: int
) -> list[PhaseRing]:
    """In the order of the phases of every worker."""
    groups = machine_groups(scenario.topology)
    each = len(groups[0])
    inside = range(each + 1, each + 1 + 2 * len(groups))
    before, between, after = rings(groups, elements)
    if each == 1:
        before, after = [], []  # a machine of one worker has nothing to do inside
    outer = [
        PhaseRing(step, phase, kind, number, tuple(group), 0, elements)
        for number, (step, (phase, kind, group)) in zip(
            inside, (*((0, ring) for ring in before), *((2, ring) for ring in after)), strict=False
        )
    ]
    return [*outer[: len(before)], *between, *outer[len(before) :]]


def _masters(groups: Sequence[Sequence[Node]], elements: int) -> _Phases:
    """The master is a machine's first worker; a chain leads from the last one to it."""
    between = [PhaseRing(1, "masters", "ring", 1, tuple(group[0] for group in groups), 0, elements)]
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
        between.append(PhaseRing(1, "netreduce", "netreduce", place + 1, hosts, first, behind - first))
    return (
        [("reduce_scatter", "reduce_scatter", group) for group in groups],
        between,
        [("all_gather", "all_gather", group) for group in groups],
    )
