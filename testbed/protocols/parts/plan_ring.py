"""From a scenario to one ring of workers over RC connections: netreduce, ring, shift."""

from __future__ import annotations

import random
from dataclasses import replace

from switch_nodes.kinds import sums
from testbed.plan.accelerated import DATA_DSCP
from testbed.plan.connections import plan_connections
from testbed.plan.irn import irn_config
from testbed.plan.jobs import plan_jobs
from testbed.plan.model import Plan
from testbed.plan.pairs import ECT0, PairEnd, queue_pair, receive_va
from testbed.plan.switches import RING_ID, leaf_sizes, plan_switches
from testbed.protocols.parts.keys_kinds import RING_KINDS
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from workloads.collectives.held import kept
from workloads.config import CollectiveConfig, QpConfig, WorkerConfig
from workloads.rc.numbers import any_psn, psn_of

__all__ = ["plan_ring"]


def plan_ring(scenario: Scenario) -> Plan:
    """QPNs, PSNs, UDP source ports and keys of one ring over the hosts of the job, drawn from the seed."""
    draw, (only,) = random.Random(f"plan {scenario.seed}"), plan_jobs(scenario)
    transport, job = scenario.transport, scenario.job
    hosts, workloads = only.hosts, only.workloads
    size = len(hosts)
    psns = [any_psn(draw.randrange) if transport.start_psn is None else psn_of(transport.start_psn) for _ in hosts]
    qpns = draw.sample(range(0x100, 0x10000), 2 * size)
    send_qpn, recv_qpn = qpns[:size], qpns[size:]
    sports = [draw.randrange(0xC000, 0x10000) for _ in range(2 * size)]
    rkeys = [draw.randrange(1 << 32) for _ in hosts]
    arithmetic, protocol = only.arithmetic, protocol_of(job.protocol)
    irn = irn_config(scenario) if transport.speaks_irn else None
    # A switch that steers knows data that must be summed by this; what answers it, and what no switch sums, has none.
    data_dscp = DATA_DSCP if any(map(sums, protocol.programs)) else 0

    def qp(rank: int, peer: int, *, to_successor: bool) -> QpConfig:
        return queue_pair(
            scenario,
            PairEnd(hosts[rank], send_qpn[rank], psns[rank]) if to_successor else PairEnd(hosts[rank], recv_qpn[rank]),
            PairEnd(hosts[peer], recv_qpn[peer]) if to_successor else PairEnd(hosts[peer], send_qpn[peer], psns[peer]),
            sport=sports[rank if to_successor else size + rank],
            dscp=data_dscp if to_successor else 0,
            irn=irn,
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
                    kind=job.protocol
                    if protocol.sends_zeros(job.operation)
                    else RING_KINDS.get(job.operation, job.protocol),
                    ring_id=RING_ID,
                    rank=rank,
                    size=size,
                    arithmetic=arithmetic,
                    message_packets=job.message_packets,
                    window_messages=job.window_messages,
                    verb=transport.verb,
                    credit=job.credit,
                    hello=job.hello,
                    peer_base_va=receive_va(successor),
                    peer_rkey=rkeys[successor],
                    base_va=receive_va(rank),
                    rkey=rkeys[rank],
                    receive_late_ns=transport.receive_late_ns,
                    pipelined=job.pipelined,
                    kept=workloads[rank].kept or kept(job.operation, rank, size, workloads[rank].elements, job.root),
                ),
                workload=workloads[rank],
            )
        )
    if job.fallback != "none":
        workers = [replace(worker, fallback=_fallen_back(worker, job.fallback)) for worker in workers]
    switches = plan_switches(scenario, arithmetic)
    return Plan(scenario, tuple(workers), switches, plan_connections(tuple(workers)), leaf_sizes(switches))


_SECOND_LIFE = 1 << 23
"""between the queue pair numbers of a worker and those of its fallback; a plan takes QPNs below 2^16"""


def _fallen_back(worker: WorkerConfig, kind: str) -> WorkerConfig:
    """The same job as a protocol that asks nothing of switches, on queue pairs of their own, whose data no switch
    leads through an accelerator."""

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
        collective=replace(worker.collective, kind=kind),
    )
