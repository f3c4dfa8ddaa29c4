"""From a scenario to the configuration of every node, all of it drawn from the seed: the same in all worlds."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from switch_nodes.config import SwitchConfig
from testbed.faults.connections import Connection
from testbed.plan.connections import plan_connections
from testbed.plan.switches import RING_ID, plan_switches
from testbed.plan.switchml import plan_switchml_workers, with_switchml_jobs
from testbed.scenario.model import Scenario
from workloads.config import ArithmeticSpec, CollectiveConfig, HostConfig, QpConfig, WorkerConfig, WorkloadConfig
from workloads.gradients import digits_elements
from workloads.wire import PSN_MODULUS, Envelope

__all__ = ["Plan", "make_plan", "with_workers"]

_BASE_VA = 0x10_0000_0000


@dataclass(frozen=True, slots=True)
class Plan:
    scenario: Scenario
    workers: tuple[HostConfig, ...]
    """group by group, each in rank order; a worker's name is its host's"""
    switches: tuple[SwitchConfig, ...]
    connections: tuple[Connection, ...]
    """connection k goes from rank k to rank k+1; none where workers do not talk over RC"""

    @property
    def groups(self) -> Mapping[int, tuple[HostConfig, ...]]:
        """By id of ring or job: the workers whose gradients are summed with each other."""
        ids = dict.fromkeys(worker.group for worker in self.workers)
        return {group: tuple(worker for worker in self.workers if worker.group == group) for group in ids}

    @property
    def ring_workers(self) -> tuple[WorkerConfig, ...]:
        """The workers where they form a ring of RC connections; else none."""
        return tuple(worker for worker in self.workers if isinstance(worker, WorkerConfig))


def make_plan(scenario: Scenario) -> Plan:
    """What the scenario's collective needs of hosts and switches."""
    draw = random.Random(f"plan {scenario.seed}")
    if scenario.job.collective == "switchml":
        pool_workers = plan_switchml_workers(scenario, _workloads(scenario), draw)
        switches = plan_switches(scenario, pool_workers[0].collective.arithmetic)
        return Plan(scenario, pool_workers, with_switchml_jobs(switches, scenario, pool_workers), ())
    return _plan_ring(scenario, draw)


def _workloads(scenario: Scenario) -> tuple[WorkloadConfig, ...]:
    """In rank order."""
    job = scenario.job
    return tuple(
        WorkloadConfig(
            kind=job.workload,
            seed=scenario.seed,
            elements=digits_elements() if job.workload == "digits" else job.size_bytes // 4,
            iterations=job.iterations,
            straggle_ns=job.straggle_ns if rank == job.straggle_rank else 0,
        )
        for rank in range(len(scenario.topology.hosts))
    )


def _plan_ring(scenario: Scenario, draw: random.Random) -> Plan:
    """QPNs, PSNs, UDP source ports and keys of one ring over all hosts, and the switches' tables."""
    transport, job = scenario.transport, scenario.job
    hosts = scenario.topology.hosts
    size = len(hosts)
    psns = [
        draw.randrange(PSN_MODULUS) if transport.start_psn is None else transport.start_psn % PSN_MODULUS for _ in hosts
    ]
    qpns = draw.sample(range(0x100, 0x10000), 2 * size)
    send_qpn, recv_qpn = qpns[:size], qpns[size:]
    sports = [draw.randrange(0xC000, 0x10000) for _ in range(2 * size)]
    rkeys = [draw.randrange(1 << 32) for _ in hosts]
    arithmetic, workloads = ArithmeticSpec(job.op, job.dtype), _workloads(scenario)

    def qp(rank: int, peer: int, *, to_successor: bool) -> QpConfig:
        return QpConfig(
            qpn=send_qpn[rank] if to_successor else recv_qpn[rank],
            peer_qpn=recv_qpn[peer] if to_successor else send_qpn[peer],
            envelope=Envelope(
                src_mac=hosts[rank].mac,
                dst_mac=hosts[peer].mac,
                src_ip=hosts[rank].ip,
                dst_ip=hosts[peer].ip,
                sport=sports[rank if to_successor else size + rank],
                tos=0x02,
            ),
            first_psn=psns[rank] if to_successor else 0,
            peer_first_psn=0 if to_successor else psns[peer],
            path_mtu=transport.path_mtu,
            timeout_code=transport.timeout_code,
            retry_count=transport.retry_count,
            rnr_retry=transport.rnr_retry,
            rnr_timer_code=transport.rnr_timer_code,
            ack_every=transport.ack_every,
            trace=scenario.trace,
        )

    workers = []
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
                    peer_base_va=_BASE_VA * (successor + 1),
                    peer_rkey=rkeys[successor],
                    base_va=_BASE_VA * (rank + 1),
                    rkey=rkeys[rank],
                    receive_late_ns=transport.receive_late_ns,
                ),
                workload=workloads[rank],
            )
        )
    return Plan(scenario, tuple(workers), plan_switches(scenario, arithmetic), plan_connections(tuple(workers)))


def with_workers(plan: Plan, workers: Sequence[WorkerConfig]) -> Plan:
    """The same plan for workers whose queue pairs have other numbers, keys or addresses, since devices chose them: what
    faults and checkers know of the connections follows."""
    return replace(plan, workers=tuple(workers), connections=plan_connections(tuple(workers)))
