"""From a scenario to the configuration of every node, all of it drawn from the seed: the same in all worlds."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from switch_nodes.config import LeafLinks, SwitchConfig
from testbed.faults.connections import Connection
from testbed.plan.accelerated import DATA_DSCP
from testbed.plan.background import PlannedFlow, plan_background
from testbed.plan.connections import plan_connections
from testbed.plan.hierarchical import PHASED, phased_switches, phased_workers
from testbed.plan.pairs import BASE_VA, ECT0, queue_pair
from testbed.plan.switches import RING_ID, plan_switches
from testbed.plan.switchml import plan_switchml_workers, plan_uc_connections, with_switchml_jobs
from testbed.scenario.model import Scenario
from workloads.config import ArithmeticSpec, CollectiveConfig, HostConfig, QpConfig, WorkerConfig, WorkloadConfig
from workloads.gradients import digits_elements
from workloads.wire import PSN_MODULUS

__all__ = ["Plan", "make_plan", "with_workers"]


@dataclass(frozen=True, slots=True)
class Plan:
    scenario: Scenario
    workers: tuple[HostConfig, ...]
    """group by group, each in rank order; a worker's name is its host's"""
    switches: tuple[SwitchConfig, ...]
    connections: tuple[Connection, ...]
    """one ring: connection k goes from rank k to rank k+1; phases: those of rank 0 in their order, then those of rank 1, ...;
    SwitchML over UC: for each worker those of its indices"""
    racks: tuple[int, ...] = ()
    """hosts of each rack, in rank order, where switches sum each rack first; empty: all ranks enter one sum"""
    background: tuple[PlannedFlow, ...] = ()

    @property
    def groups(self) -> Mapping[int, tuple[HostConfig, ...]]:
        """By id of ring or job: the workers whose gradients are summed with each other."""
        ids = dict.fromkeys(worker.group for worker in self.workers)
        return {group: tuple(worker for worker in self.workers if worker.group == group) for group in ids}

    @property
    def ring_workers(self) -> tuple[WorkerConfig, ...]:
        """The workers where they talk over RC connections; else none."""
        return tuple(worker for worker in self.workers if isinstance(worker, WorkerConfig))


def make_plan(scenario: Scenario) -> Plan:
    """QPNs, PSNs, UDP source ports and keys of one ring over the hosts of the job, or of the rings of all phases, and the
    switches' tables."""
    workloads = _workloads(scenario)
    if scenario.job.collective in PHASED:
        phased = phased_workers(scenario, workloads)
        switches, connections = phased_switches(scenario, phased), plan_connections(phased)
        return Plan(scenario, phased, switches, connections, background=plan_background(scenario))
    draw = random.Random(f"plan {scenario.seed}")
    if scenario.job.collective == "switchml":
        pool = plan_switchml_workers(scenario, workloads, draw)
        switches = with_switchml_jobs(plan_switches(scenario, pool[0].collective.arithmetic), scenario, pool)
        return Plan(scenario, pool, switches, plan_uc_connections(pool), background=plan_background(scenario))
    transport, job = scenario.transport, scenario.job
    hosts = scenario.ranks
    size = len(hosts)
    psns = [
        draw.randrange(PSN_MODULUS) if transport.start_psn is None else transport.start_psn % PSN_MODULUS for _ in hosts
    ]
    qpns = draw.sample(range(0x100, 0x10000), 2 * size)
    send_qpn, recv_qpn = qpns[:size], qpns[size:]
    sports = [draw.randrange(0xC000, 0x10000) for _ in range(2 * size)]
    rkeys = [draw.randrange(1 << 32) for _ in hosts]
    arithmetic = ArithmeticSpec(job.op, job.dtype)
    # A switch that steers knows data that must be summed by this; what answers it, and what no switch sums, has none.
    data_dscp = DATA_DSCP if job.collective == "netreduce" else 0

    def qp(rank: int, peer: int, *, to_successor: bool) -> QpConfig:
        return queue_pair(
            scenario, hosts[rank], hosts[peer],
            qpn=send_qpn[rank] if to_successor else recv_qpn[rank],
            peer_qpn=recv_qpn[peer] if to_successor else send_qpn[peer],
            sport=sports[rank if to_successor else size + rank],
            first_psn=psns[rank] if to_successor else 0,
            peer_first_psn=0 if to_successor else psns[peer],
            dscp=data_dscp if to_successor else 0,
        )  # fmt: skip

    workers: list[WorkerConfig] = []
    for rank, host in enumerate(hosts):
        successor, predecessor = (rank + 1) % size, (rank - 1) % size
        workers.append(
            WorkerConfig(
                name=host.name,
                to_successor=qp(rank, successor, to_successor=True),
                from_predecessor=qp(rank, predecessor, to_successor=False),
                collective=CollectiveConfig(
                    kind=job.collective,
                    ring_id=RING_ID,
                    rank=rank,
                    size=size,
                    arithmetic=arithmetic,
                    message_packets=job.message_packets,
                    window_messages=job.window_messages,
                    verb=transport.verb,
                    credit=job.credit,
                    hello=job.hello,
                    peer_base_va=BASE_VA * (successor + 1),
                    peer_rkey=rkeys[successor],
                    base_va=BASE_VA * (rank + 1),
                    rkey=rkeys[rank],
                    receive_late_ns=transport.receive_late_ns,
                    pipelined=job.pipelined,
                ),
                workload=workloads[rank],
            )
        )
    if job.fallback == "ring":
        workers = [replace(worker, fallback=_as_ring(worker)) for worker in workers]
    switches = plan_switches(scenario, arithmetic)
    racks = [len(ring.members) for switch in switches for ring in switch.rings if isinstance(ring.links, LeafLinks)]
    return Plan(
        scenario, tuple(workers), switches, plan_connections(tuple(workers)), tuple(racks), plan_background(scenario)
    )


_SECOND_LIFE = 1 << 23
"""between the queue pair numbers of a worker and those of its fallback; a plan takes QPNs below 2^16"""


def _as_ring(worker: WorkerConfig) -> WorkerConfig:
    """The same job as plain ring, on queue pairs of their own, whose data no switch leads through an accelerator."""

    def qp(config: QpConfig) -> QpConfig:
        return replace(
            config,
            qpn=config.qpn | _SECOND_LIFE,
            peer_qpn=config.peer_qpn | _SECOND_LIFE,
            envelope=replace(config.envelope, tos=ECT0),
        )

    return replace(
        worker,
        to_successor=qp(worker.to_successor),
        from_predecessor=qp(worker.from_predecessor),
        collective=replace(worker.collective, kind="ring"),
    )


def _workloads(scenario: Scenario) -> tuple[WorkloadConfig, ...]:
    """Of each rank."""
    job = scenario.job
    elements = digits_elements() if job.workload == "digits" else job.size_bytes // 4
    return tuple(
        WorkloadConfig(
            kind=job.workload,
            seed=scenario.seed,
            elements=elements,
            iterations=job.iterations,
            straggle_ns=job.straggle_ns if rank == job.straggle_rank else 0,
        )
        for rank in range(len(scenario.ranks))
    )


def with_workers(plan: Plan, workers: Sequence[WorkerConfig]) -> Plan:
    """The same plan for workers whose queue pairs have other numbers, keys or addresses, since devices chose them: what
    faults and checkers know of the connections follows."""
    return replace(plan, workers=tuple(workers), connections=plan_connections(tuple(workers)))
