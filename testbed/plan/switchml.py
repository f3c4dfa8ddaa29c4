"""From a scenario to the workers of SwitchML jobs, and what their switch is told of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember, partition
from testbed.scenario.model import Scenario
from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.switchml import SwitchMlConfig
from workloads.wire import Envelope

__all__ = ["FIRST_JOB", "SERVICE_IP", "SERVICE_MAC", "plan_switchml_workers", "with_switchml_jobs"]

FIRST_JOB = 1
SERVICE_IP = bytes((10, 77, 255, 1))
SERVICE_MAC = bytes.fromhex("02494e41ff01")
"""of the aggregation service of the switch: behind all addresses that hosts get"""
_ELEMENT_BYTES = 4
_VERSIONS = 2
_SEEDS, _SEEDS_APART = 1 << 63, 0x9E3779B97F4A7C15


def plan_switchml_workers(
    scenario: Scenario, workloads: Sequence[WorkloadConfig], draw: random.Random
) -> tuple[SwitchMlConfig, ...]:
    """Job by job, in rank order; the hosts are dealt out to the jobs in their order. The window is never larger than the
    job's part of the pool, nor than the blocks of a gradient. Gradients of different jobs differ."""
    hosts, job, transport = scenario.ranks, scenario.job, scenario.transport
    elements, size = transport.path_mtu // _ELEMENT_BYTES, len(hosts) // job.copies
    parts = partition(scenario.switch.memory, _VERSIONS, job.copies)
    workers = []
    for number, host in enumerate(hosts[: size * job.copies]):
        (index, rank), workload = divmod(number, size), workloads[number]
        (first, slots), blocks = parts[index], -(-workload.elements // elements)
        workers.append(
            SwitchMlConfig(
                name=host.name,
                collective=JobShare("switchml", FIRST_JOB + index, rank, size, ArithmeticSpec(job.op, job.dtype)),
                workload=replace(workload, seed=(workload.seed + index * _SEEDS_APART) % _SEEDS),
                envelope=Envelope(
                    host.mac, SERVICE_MAC, host.ip, SERVICE_IP, draw.randrange(0xC000, 0x10000), tos=0x02
                ),
                elements=elements,
                first_slot=first,
                window=min(job.window_packets, slots, blocks),
                rto_ns=transport.rto_ns,
            )
        )
    return tuple(workers)


def with_switchml_jobs(
    switches: tuple[SwitchConfig, ...], scenario: Scenario, workers: Sequence[SwitchMlConfig]
) -> tuple[SwitchConfig, ...]:
    """The same switches, told of the jobs instead of a ring."""
    parts = partition(scenario.switch.memory, _VERSIONS, scenario.job.copies)
    configs = []
    for switch in switches:
        ports = dict(switch.macs)
        jobs = []
        for index, (first, slots) in enumerate(parts):
            own = [worker for worker in workers if worker.collective.job == FIRST_JOB + index]
            members = tuple(
                JobMember(worker.collective.rank, worker.envelope.src_mac, worker.envelope.src_ip, port)
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
        configs.append(replace(switch, rings=(), jobs=tuple(jobs), memory=scenario.switch.memory))
    return tuple(configs)
