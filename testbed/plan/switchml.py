"""From a scenario to the workers of SwitchML jobs, and what their switch is told of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember, partition
from testbed.faults.connections import Connection
from testbed.plan.pairs import BASE_VA, ECT0
from testbed.scenario.model import Scenario
from workloads.config import ArithmeticSpec, WorkloadConfig
from workloads.switchml import JobShare, SwitchMlConfig
from workloads.uc import UcPairs, service_qpn
from workloads.wire import PSN_MODULUS, Envelope

__all__ = [
    "FIRST_JOB",
    "SERVICE_IP",
    "SERVICE_MAC",
    "plan_switchml_workers",
    "plan_uc_connections",
    "with_switchml_jobs",
]

FIRST_JOB = 1
SERVICE_IP = bytes((10, 77, 255, 1))
SERVICE_MAC = bytes.fromhex("02494e41ff01")
"""of the aggregation service of the switch: behind all addresses that hosts get"""
_FIRST_QPN, _LAST_QPN = 0x100, 0x10000
_ELEMENT_BYTES = 4
_VERSIONS = 2
_SEEDS, _SEEDS_APART = 1 << 63, 0x9E3779B97F4A7C15


def plan_switchml_workers(
    scenario: Scenario, workloads: Sequence[WorkloadConfig], draw: random.Random
) -> tuple[SwitchMlConfig, ...]:
    """Job by job, in rank order; the hosts are dealt out to the jobs in their order. The window is never larger than the
    job's part of the pool, nor than the blocks of a gradient. Gradients of different jobs differ.

    Over UC a block is a message, of `Transport.uc_packets` packets."""
    hosts, job, transport = scenario.ranks, scenario.job, scenario.transport
    packets = _packets_of_block(scenario)
    elements, size = transport.path_mtu * packets // _ELEMENT_BYTES, len(hosts) // job.copies
    parts = partition(_blocks_stored(scenario), _VERSIONS, job.copies)
    workers = []
    for number, host in enumerate(hosts[: size * job.copies]):
        (index, rank), workload = divmod(number, size), workloads[number]
        (first, slots), blocks = parts[index], -(-workload.elements // elements)
        envelope = Envelope(host.mac, SERVICE_MAC, host.ip, SERVICE_IP, draw.randrange(0xC000, 0x10000), tos=ECT0)
        workers.append(
            SwitchMlConfig(
                name=host.name,
                collective=JobShare("switchml", FIRST_JOB + index, rank, size, ArithmeticSpec(job.op, job.dtype)),
                workload=replace(workload, seed=(workload.seed + index * _SEEDS_APART) % _SEEDS),
                envelope=envelope,
                elements=elements,
                first_slot=first,
                window=min(job.window_packets // packets, slots, blocks),
                rto_ns=transport.rto_ns,
                uc=_uc_pairs(scenario, rank, first, draw) if transport.framing == "uc" else None,
            )
        )
    return tuple(workers)


def _packets_of_block(scenario: Scenario) -> int:
    return scenario.transport.uc_packets if scenario.transport.framing == "uc" else 1


def _blocks_stored(scenario: Scenario) -> int:
    """The scenario counts the values of packets."""
    return scenario.switch.memory // _packets_of_block(scenario)


def _uc_pairs(scenario: Scenario, rank: int, first_slot: int, draw: random.Random) -> UcPairs:
    transport = scenario.transport
    psn, qpn, key = draw.randrange(PSN_MODULUS), draw.randrange(_FIRST_QPN, _LAST_QPN), draw.randrange(1 << 31)
    return UcPairs(
        qpn=qpn,
        service_qpn=service_qpn(rank, first_slot),
        first_psn=psn if transport.start_psn is None else transport.start_psn % PSN_MODULUS,
        va=BASE_VA * (rank + 1),
        rkey=key << 1,
        path_mtu=transport.path_mtu,
    )


def plan_uc_connections(workers: Sequence[SwitchMlConfig]) -> tuple[Connection, ...]:
    """One for each worker and index of its window; none over UDP. A repetition is a message of its own, so that nothing can
    be said of messages beforehand."""
    return tuple(
        Connection(
            rank=worker.collective.rank,
            requests=(worker.envelope.src_ip, worker.envelope.dst_ip, worker.uc.service_qpn + cell),
            answers=(worker.envelope.dst_ip, worker.envelope.src_ip, worker.uc.qpn + cell),
            first_psn=worker.uc.first_psn,
            message_packets=(),
        )
        for worker in workers
        if worker.uc is not None
        for cell in range(worker.window)
    )


def with_switchml_jobs(
    switches: tuple[SwitchConfig, ...], scenario: Scenario, workers: Sequence[SwitchMlConfig]
) -> tuple[SwitchConfig, ...]:
    """The same switches, told of the jobs instead of a ring."""
    parts = partition(_blocks_stored(scenario), _VERSIONS, scenario.job.copies)
    configs = []
    for switch in switches:
        ports = dict(switch.macs)
        jobs = []
        for index, (first, slots) in enumerate(parts):
            own = [worker for worker in workers if worker.collective.job == FIRST_JOB + index]
            members = tuple(
                JobMember(worker.collective.rank, worker.envelope.src_mac, worker.envelope.src_ip, port, worker.uc)
                for worker in own
                if (port := ports.get(worker.envelope.src_mac)) is not None
            )
            jobs.append(
                JobConfig(
                    job=FIRST_JOB + index,
                    members=members,
                    service_mac=SERVICE_MAC,
                    service_ip=SERVICE_IP,
                    first_slot=first,
                    slots=slots,
                    elements=own[0].elements,
                    arithmetic=own[0].collective.arithmetic,
                )
            )
        configs.append(replace(switch, rings=(), jobs=tuple(jobs), memory=_blocks_stored(scenario)))
    return tuple(configs)
