"""Workers of a protocol in phases: each phase of a worker is a ring of its own, with queue pairs, keys and first PSNs
drawn from the seed."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from testbed.plan.pairs import BASE_VA, PairEnd, queue_pair
from testbed.scenario.model import Scenario
from topologies import Node
from workloads.collectives.held import kept
from workloads.collectives.pairs import PairSide
from workloads.config import (
    ArithmeticSpec,
    CollectiveConfig,
    IrnConfig,
    MeshTask,
    PhaseConfig,
    WorkerConfig,
    WorkloadConfig,
)
from workloads.rc.numbers import any_psn, psn_of

__all__ = ["PhaseRing", "phased_workers"]

_QPNS = range(0x100, 0x10000)


@dataclass(frozen=True, slots=True)
class PhaseRing:
    """One ring of one phase."""

    step: int
    """rings of one step run together"""
    phase: str
    kind: str
    ring_id: int
    """no other ring of the plan has it; those on the rack's switch count from 1"""
    hosts: tuple[Node, ...]
    """rank order"""
    first_element: int
    elements: int
    sides: tuple[PairSide, PairSide] | None = None
    """as in PairPhase"""


def phased_workers(
    scenario: Scenario,
    hosts: Sequence[Node],
    rings: Sequence[PhaseRing],
    workloads: Sequence[WorkloadConfig],
    irn: IrnConfig | None = None,
    *,
    wait_for_acks: bool = True,
    task: MeshTask | None = None,
    taken: Collection[int] = (),
) -> tuple[WorkerConfig, ...]:
    """Workers in rank order with the queue pairs of all their phases, in the order of `rings`. `hosts`, `workloads`: of
    each rank. `irn`: None where the connections use go-back-N. `wait_for_acks`: as PhaseConfig.waits_for_acks. `task`:
    of a mesh. `taken`: numbers of queue pairs of the protocol that these connections stand next to."""
    job = scenario.job
    seats = sum(len(ring.hosts) for ring in rings)
    draw = random.Random(f"{'channels' if taken else 'phases'} {scenario.seed}")
    free = [qpn for qpn in _QPNS if qpn not in taken] if taken else _QPNS
    qpns = iter(draw.sample(free, 2 * seats))
    rkeys = iter(draw.sample(range(1 << 32), seats))
    phases: dict[str, list[PhaseConfig]] = {host.name: [] for host in hosts}
    for ring in rings:
        found = _phases(scenario, ring, irn, draw, qpns, rkeys, wait_for_acks=wait_for_acks)
        for host, phase in zip(ring.hosts, found, strict=True):
            phases[host.name].append(phase)
    return tuple(
        WorkerConfig(
            name=host.name,
            to_successor=phases[host.name][0].to_successor,
            from_predecessor=phases[host.name][0].from_predecessor,
            collective=CollectiveConfig(
                kind=job.protocol,
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
                kept=kept(job.operation, rank, len(hosts), workload.elements, job.root),
                task=task,
            ),
            workload=workload,
            phases=tuple(phases[host.name]),
        )
        for rank, (host, workload) in enumerate(zip(hosts, workloads, strict=True))
    )


def _phases(
    scenario: Scenario,
    ring: PhaseRing,
    irn: IrnConfig | None,
    draw: random.Random,
    qpns: Iterator[int],
    rkeys: Iterator[int],
    *,
    wait_for_acks: bool,
) -> list[PhaseConfig]:
    """Of the hosts of one ring, in rank order."""
    job, transport, hosts = scenario.job, scenario.transport, ring.hosts
    size = len(hosts)
    sending, receiving, keys = (list(islice(numbers, size)) for numbers in (qpns, qpns, rkeys))
    sports = [draw.randrange(0xC000, 0x10000) for _ in range(2 * size)]
    psns = [any_psn(draw.randrange) if transport.start_psn is None else psn_of(transport.start_psn) for _ in hosts]
    phases = []
    for rank, host in enumerate(hosts):
        side = None if ring.sides is None else ring.sides[rank]
        after, before = (rank + 1) % size, (rank - 1) % size
        phases.append(
            PhaseConfig(
                to_successor=queue_pair(
                    scenario, PairEnd(host, sending[rank], psns[rank]), PairEnd(hosts[after], receiving[after]),
                    sport=sports[rank], irn=irn,
                ),
                from_predecessor=queue_pair(
                    scenario, PairEnd(host, receiving[rank]), PairEnd(hosts[before], sending[before], psns[before]),
                    sport=sports[size + rank], irn=irn,
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
                    takes_in=None if side is None else side.into_elements,
                ),
                first_element=ring.first_element if side is None else side.first_element,
                elements=ring.elements if side is None else side.elements,
                into_element=None if side is None else side.into_element,
                step=ring.step,
                waits_for_acks=wait_for_acks,
            )
        )  # fmt: skip
    return phases
