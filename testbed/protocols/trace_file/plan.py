"""The plan of a trace: rings with connections of their own for each of its communications, except for sums that travel
in datagrams."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count

from switch_nodes.config import RingConfig, SwitchConfig
from testbed.plan.connections import plan_connections
from testbed.plan.irn import irn_config
from testbed.plan.jobs import PlannedJob, plan_jobs
from testbed.plan.model import Plan
from testbed.plan.phases import PhaseRing, phased_workers
from testbed.plan.switches import leaf_sizes, plan_switches
from testbed.protocols.trace_file.keys import all_reduce_of, trace_keys
from testbed.protocols.trace_file.keys_runs import in_datagrams, rings_of
from testbed.scenario.model import Scenario
from workloads.collectives.kinds import ring_kind
from workloads.traces.matching import TraceOperation
from workloads.traces.model import TraceNode
from workloads.traces.program import TracedConfig, TraceStep

__all__ = ["plan_trace", "traced_workers"]


def plan_trace(scenario: Scenario) -> Plan:
    (only,) = plan_jobs(scenario)
    workers, summed = traced_workers(scenario, only)
    switches = tuple(_with_rings(switch, summed) for switch in plan_switches(scenario, only.arithmetic))
    return Plan(scenario, workers, switches, plan_connections(workers), leaf_sizes(switches))


def traced_workers(
    scenario: Scenario, only: PlannedJob, taken_qpns: Collection[int] = ()
) -> tuple[tuple[TracedConfig, ...], list[PhaseRing]]:
    """In rank order; and the rings that switches sum. Queue pairs, PSNs and keys of all rings are drawn from the seed.
    `taken_qpns`: as `phased_workers`."""
    job, keys = scenario.job, trace_keys(scenario.job)
    trace, operations = keys.load()
    hosts, size = only.hosts, len(only.hosts)
    rings, summed = list[PhaseRing](), list[PhaseRing]()
    phases: list[list[tuple[int, int, bool]]] = [[] for _ in hosts]
    """by rank, of each communication: place of its first phase, their number, whether it is one ring"""
    taken = [0] * size
    for number, each in enumerate(operations):
        before = list(taken)
        own = () if in_datagrams(each, job, size) else rings_of(each, all_reduce_of(job), keys.divide, job)
        for place, ring in enumerate(own):
            planned = PhaseRing(
                ring.step, f"{each.kind}_{number}_{place}", ring.kind, len(rings) + 1,
                tuple(hosts[rank] for rank in ring.ranks), ring.first_element, ring.elements, ring.sides,
            )  # fmt: skip
            rings.append(planned)
            summed += [planned] if ring_kind(ring.kind).is_summed else []
            for rank in ring.ranks:
                taken[rank] += 1
        for rank in each.ranks:
            phases[rank].append((before[rank], taken[rank] - before[rank], len(own) == 1 and own[0].is_whole))
    for rank in range(size):
        if not taken[rank]:  # a worker has connections, also where it has nothing to say
            pair = tuple(hosts[each] for each in (rank, (rank + 1) % size))
            rings.append(PhaseRing(0, f"unused_{rank}", "ready", len(rings) + 1, pair, 0, 1))
            taken[rank] += 1
            taken[(rank + 1) % size] += 1
    pairs = {pair for ring in rings for pair in zip(ring.hosts, ring.hosts[1:] + ring.hosts[:1], strict=True)}
    irn = irn_config(scenario, pairs) if scenario.transport.speaks_irn else None
    layout = keys.layout()
    turns = {number: each.turn for number, each in enumerate(operations) if in_datagrams(each, job, size)}
    workers = tuple(
        TracedConfig(
            **{name: getattr(worker, name) for name in _FIELDS},
            steps=_steps(operations, rank, trace.ranks[rank]),
            communications=tuple(
                replace(each, first_phase=first, phases=number, simple=simple, turn=turns.get(each.number, -1))
                for each, (first, number, simple) in zip(layout.communications[rank], phases[rank], strict=True)
            ),
        )
        for rank, worker in enumerate(phased_workers(scenario, hosts, rings, only.workloads, irn, taken=taken_qpns))
    )
    return workers, summed


_FIELDS = ("name", "to_successor", "from_predecessor", "collective", "workload", "fallback", "phases")


def _steps(operations: Sequence[TraceOperation], rank: int, nodes: Sequence[TraceNode]) -> tuple[TraceStep, ...]:
    begun: dict[int, int] = {}
    numbers = count()
    for each in operations:
        if rank in each.ranks:
            number, place = next(numbers), each.ranks.index(rank)
            if place < len(each.places):
                begun[each.places[place]] = number
    return tuple(
        TraceStep(
            node.number, node.name, node.kind, node.compute_ns, begun.get(place, -1), node.after, node.after_start,
            node.lane, node.peer, node.tag,
        )
        for place, node in enumerate(nodes)
    )  # fmt: skip


def _with_rings(switch: SwitchConfig, summed: Sequence[PhaseRing]) -> SwitchConfig:
    """The one ring that a switch serves, once for each all-reduce, with the hosts of its group; none of them: it only
    forwards."""
    rings = tuple(_of_group(ring, each) for each in summed for ring in switch.rings)
    return replace(switch, rings=rings)


def _of_group(ring: RingConfig, planned: PhaseRing) -> RingConfig:
    if ring.links is not None:  # one of several switches: the ring of all ranks
        return replace(ring, ring_id=planned.ring_id)
    by_address = {member.ip: member for member in ring.members}
    members = tuple(replace(by_address[host.ip], rank=rank) for rank, host in enumerate(planned.hosts))
    return replace(ring, ring_id=planned.ring_id, members=members, receive_vas=ring.receive_vas[: len(members)])
