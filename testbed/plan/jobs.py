"""The jobs of a scenario, with what every protocol needs of them: hosts, workloads, and the members that a switch knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobMember
from testbed.scenario.model import Job, Scenario
from topologies import Node
from workloads.config import ArithmeticSpec, WorkloadConfig
from workloads.gradients import digits_elements

__all__ = ["FIRST_JOB", "SERVICE_IP", "SERVICE_MAC", "PlannedJob", "job_members", "plan_jobs"]

FIRST_JOB = 1
SERVICE_IP = bytes((10, 77, 255, 1))
SERVICE_MAC = bytes.fromhex("02494e41ff01")
"""of the aggregation service of a switch: behind all addresses that hosts get"""
_SEEDS, _SEEDS_APART = 1 << 63, 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class PlannedJob:
    number: int
    """its id on the wire"""
    job: Job
    hosts: tuple[Node, ...]
    """rank order"""
    workloads: tuple[WorkloadConfig, ...]
    """rank order"""
    server: Node | None
    """the host of its parameter server, where the scenario names one"""

    @property
    def arithmetic(self) -> ArithmeticSpec:
        return ArithmeticSpec(self.job.op, self.job.dtype)


def plan_jobs(scenario: Scenario) -> tuple[PlannedJob, ...]:
    """In the order of the scenario. Gradients of different jobs differ."""
    topology = scenario.topology
    planned = []
    for index, job in enumerate(scenario.all_jobs):
        hosts = tuple(map(topology.node, job.hosts)) or topology.hosts
        planned.append(
            PlannedJob(
                number=FIRST_JOB + index if job.number is None else job.number,
                job=job,
                hosts=hosts,
                workloads=tuple(_workload(scenario, job, rank) for rank in range(len(hosts))),
                server=topology.node(job.server) if job.server else None,
            )
        )
    return tuple(planned)


def _workload(scenario: Scenario, job: Job, rank: int) -> WorkloadConfig:
    return WorkloadConfig(
        kind=job.workload,
        seed=(scenario.seed + job.seed_offset * _SEEDS_APART) % _SEEDS,
        elements=digits_elements() if job.workload == "digits" else job.size_bytes // 4,
        iterations=job.iterations,
        straggle_ns=job.straggle_ns if rank == job.straggle_rank else 0,
        arrival_ns=job.arrival_ns,
    )


def job_members(switch: SwitchConfig, hosts: Iterable[Node]) -> tuple[JobMember, ...]:
    """Those that the switch knows a single port to; ranks count in the order of `hosts`."""
    ports = dict(switch.macs)
    return tuple(
        JobMember(rank, host.mac, host.ip, ports[host.mac]) for rank, host in enumerate(hosts) if host.mac in ports
    )
