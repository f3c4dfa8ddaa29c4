"""From a scenario to the workers of a SwitchML job, and what its switch is told of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember, partition
from testbed.scenario.model import Scenario
from workloads.config import ArithmeticSpec, WorkloadConfig
from workloads.switchml import JobShare, SwitchMlConfig
from workloads.wire import Envelope

__all__ = ["JOB_ID", "SERVICE_IP", "SERVICE_MAC", "plan_switchml_workers", "with_switchml_jobs"]

JOB_ID = 1
SERVICE_IP = bytes((10, 77, 255, 1))
SERVICE_MAC = bytes.fromhex("02494e41ff01")
"""of the aggregation service of the switch: behind all addresses that hosts get"""
_ELEMENT_BYTES = 4
_VERSIONS = 2


def plan_switchml_workers(
    scenario: Scenario, workloads: Sequence[WorkloadConfig], draw: random.Random
) -> tuple[SwitchMlConfig, ...]:
    """In rank order. The window is never larger than the job's part of the pool, nor than the blocks of a gradient."""
    hosts, job, transport = scenario.topology.hosts, scenario.job, scenario.transport
    elements = transport.path_mtu // _ELEMENT_BYTES
    ((first, slots),) = partition(scenario.switch.memory, _VERSIONS, 1)
    blocks = -(-workloads[0].elements // elements)
    sports = [draw.randrange(0xC000, 0x10000) for _ in hosts]
    return tuple(
        SwitchMlConfig(
            name=host.name,
            collective=JobShare("switchml", JOB_ID, rank, len(hosts), ArithmeticSpec(job.op, job.dtype)),
            workload=workloads[rank],
            envelope=Envelope(host.mac, SERVICE_MAC, host.ip, SERVICE_IP, sports[rank], tos=0x02),
            elements=elements,
            first_slot=first,
            window=min(job.window_packets, slots, blocks),
            rto_ns=transport.rto_ns,
        )
        for rank, host in enumerate(hosts)
    )


def with_switchml_jobs(
    switches: tuple[SwitchConfig, ...], scenario: Scenario, workers: Sequence[SwitchMlConfig]
) -> tuple[SwitchConfig, ...]:
    """The same switches, told of the job instead of a ring."""
    ((first, slots),) = partition(scenario.switch.memory, _VERSIONS, 1)
    configs = []
    for switch in switches:
        ports = dict(switch.macs)
        members = tuple(
            JobMember(worker.collective.rank, worker.envelope.src_mac, worker.envelope.src_ip, port)
            for worker in workers
            if (port := ports.get(worker.envelope.src_mac)) is not None
        )
        job = JobConfig(
            job=JOB_ID,
            members=members,
            service_mac=SERVICE_MAC,
            service_ip=SERVICE_IP,
            first_slot=first,
            slots=slots,
            elements=workers[0].elements,
            arithmetic=workers[0].collective.arithmetic,
        )
        configs.append(replace(switch, rings=(), jobs=(job,), memory=scenario.switch.memory))
    return tuple(configs)
