"""From a scenario to the workers of SwitchML jobs, and what their switch is told of them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, partition
from testbed.plan.jobs import SERVICE_IP, SERVICE_MAC, PlannedJob, job_members, plan_jobs
from testbed.plan.model import Plan
from testbed.plan.switches import plan_switches
from testbed.scenario.model import Scenario
from workloads.config import JobShare
from workloads.switchml import SwitchMlConfig
from workloads.wire import Envelope

__all__ = ["plan_switchml"]

_ELEMENT_BYTES = 4
_VERSIONS = 2


def plan_switchml(scenario: Scenario) -> Plan:
    """Workers job by job, in rank order; UDP ports are drawn from the seed. Every job has an equal part of the pool."""
    jobs = plan_jobs(scenario)
    parts = partition(scenario.switch.memory, _VERSIONS, len(jobs))
    draw = random.Random(f"plan {scenario.seed}")
    workers = tuple(
        worker for job, part in zip(jobs, parts, strict=True) for worker in _workers(scenario, job, part, draw)
    )
    switches = tuple(
        replace(switch, rings=(), jobs=tuple(_configs(scenario, jobs, parts, switch)), memory=scenario.switch.memory)
        for switch in plan_switches(scenario, jobs[0].arithmetic)
    )
    return Plan(scenario, workers, switches, ())


def _elements(scenario: Scenario) -> int:
    """Of a full packet."""
    return scenario.transport.path_mtu // _ELEMENT_BYTES


def _workers(
    scenario: Scenario, job: PlannedJob, part: tuple[int, int], draw: random.Random
) -> Iterable[SwitchMlConfig]:
    """The window is never larger than the job's part of the pool, nor than the blocks of a gradient."""
    elements, (first, slots) = _elements(scenario), part
    for rank, (host, workload) in enumerate(zip(job.hosts, job.workloads, strict=True)):
        yield SwitchMlConfig(
            name=host.name,
            collective=JobShare("switchml", job.number, rank, len(job.hosts), job.arithmetic),
            workload=workload,
            envelope=Envelope(host.mac, SERVICE_MAC, host.ip, SERVICE_IP, draw.randrange(0xC000, 0x10000), tos=0x02),
            elements=elements,
            first_slot=first,
            window=min(job.job.window_packets, slots, -(-workload.elements // elements)),
            rto_ns=scenario.transport.rto_ns,
        )


def _configs(
    scenario: Scenario, jobs: Iterable[PlannedJob], parts: Iterable[tuple[int, int]], switch: SwitchConfig
) -> Iterable[JobConfig]:
    """What one switch is told."""
    for job, (first, slots) in zip(jobs, parts, strict=True):
        yield JobConfig(
            job=job.number,
            members=job_members(switch, job.hosts),
            service_mac=SERVICE_MAC,
            service_ip=SERVICE_IP,
            first_slot=first,
            slots=slots,
            elements=_elements(scenario),
            arithmetic=job.arithmetic,
        )
