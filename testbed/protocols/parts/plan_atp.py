"""From a scenario to the workers, parameter servers and switches of ATP and ESA jobs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, RackLevels
from switch_nodes.kinds import sums
from testbed.plan.contract import planned_protocol
from testbed.plan.jobs import (
    SERVICE_IP,
    SERVICE_MAC,
    PlannedJob,
    plan_jobs,
    ranks_by_switch,
    switch_member,
    switch_of,
)
from testbed.plan.model import Plan
from testbed.plan.switches import plan_switches
from testbed.scenario.model import Scenario
from topologies import Node
from workloads.atp import AtpConfig
from workloads.config import ArithmeticSpec, JobShare
from workloads.datagrams.worker_sets import WIDTH
from workloads.errors import InternalError
from workloads.server import JobOfServer, ServedMember, ServerConfig
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT

__all__ = ["job_config", "plan_atp", "server_of"]

_ELEMENT_BYTES = 4
_ECT0 = 0x02


def plan_atp(scenario: Scenario) -> Plan:
    """Workers job by job, in rank order; UDP ports and the salt of slot tables are drawn from the seed. The memory of
    the switches is everybody's."""
    jobs = plan_jobs(scenario)
    draw = random.Random(f"plan {scenario.seed}")
    salt = draw.randrange(1 << 32)
    racks = {job.number: ranks_by_switch(scenario.topology, job.hosts) for job in jobs}
    workers = tuple(worker for job in jobs for worker in _workers(scenario, job, racks[job.number], salt, draw))
    plain = replace(scenario, switch=replace(scenario.switch, program="forward"))
    switches = tuple(
        replace(
            switch, program=scenario.switch.program, memory=scenario.switch.memory, knobs=scenario.switch.knobs,
            jobs=tuple(_configs(scenario, jobs, racks, switch)),
        )
        for switch in plan_switches(plain, jobs[0].arithmetic)
    )  # fmt: skip
    return Plan(scenario, workers, switches, (), servers=tuple(_servers(scenario, jobs, racks, salt)))


def _elements(scenario: Scenario) -> int:
    """Of a full packet."""
    return scenario.transport.path_mtu // _ELEMENT_BYTES


def _window(scenario: Scenario, job: PlannedJob) -> int:
    """Never larger than the blocks of a gradient."""
    return min(job.job.window_packets, -(-job.workloads[0].elements // _elements(scenario)))


def _sums(job: PlannedJob) -> ArithmeticSpec:
    """What switches and servers do with the integers that floats become by one scale: as ATP's release, they
    saturate."""
    return job.arithmetic if job.job.fixed_scale is None else replace(job.arithmetic, dtype="int32sat")


def server_of(job: PlannedJob) -> Node:
    """Raises InternalError for a job without one."""
    if job.server is None:
        raise InternalError(f"job {job.number} without a server was not refused")
    return job.server


def _workers(
    scenario: Scenario, job: PlannedJob, racks: Mapping[str, tuple[int, ...]], salt: int, draw: random.Random
) -> Iterable[AtpConfig]:
    server, options = server_of(job), job.job
    levels = len(racks) > 1 or switch_of(scenario.topology, server) not in racks
    places = {rank: (number, rack.index(rank)) for number, rack in enumerate(racks.values()) for rank in rack}
    sizes = {rank: len(rack) for rack in racks.values() for rank in rack}
    for rank, (host, workload) in enumerate(zip(job.hosts, job.workloads, strict=True)):
        yield AtpConfig(
            name=host.name,
            collective=JobShare(options.protocol, job.number, rank, len(job.hosts), job.arithmetic),
            workload=workload,
            envelope=Envelope(host.mac, server.mac, host.ip, server.ip, draw.randrange(0xC000, 0x10000), tos=_ECT0),
            elements=_elements(scenario),
            window=_window(scenario, job),
            memory=scenario.switch.memory,
            salt=salt,
            rto_ns=scenario.transport.chosen_rto_ns,
            aimd=scenario.transport.aimd,
            fan_in=(sizes[rank], len(racks)) if levels else (0, 0),
            place=places[rank] if len(job.hosts) > WIDTH else (0, 0),
            fixed_scale=options.fixed_scale,
            priority=options.priority,
            priority_x0=options.priority_x0,
        )


def _servers(
    scenario: Scenario, jobs: Sequence[PlannedJob], racks: Mapping[int, Mapping[str, tuple[int, ...]]], salt: int
) -> Iterable[ServerConfig]:
    """One for each host that is a server, with all of its jobs."""
    for server in dict.fromkeys(map(server_of, jobs)):
        yield ServerConfig(
            name=server.name,
            envelope=Envelope(server.mac, SERVICE_MAC, server.ip, SERVICE_IP, AGGREGATION_PORT, tos=_ECT0),
            jobs=tuple(_served(scenario, job, racks[job.number], salt) for job in jobs if job.server == server),
            trace=scenario.trace,
        )


def _served(scenario: Scenario, job: PlannedJob, racks: Mapping[str, tuple[int, ...]], salt: int) -> JobOfServer:
    return JobOfServer(
        job=job.number,
        kind=job.job.protocol,
        members=tuple(ServedMember(rank, host.mac, host.ip) for rank, host in enumerate(job.hosts)),
        window=_window(scenario, job),
        memory=scenario.switch.memory,
        salt=salt,
        elements=_elements(scenario),
        arithmetic=_sums(job),
        rto_ns=scenario.transport.chosen_rto_ns,
        remind="reminder" in planned_protocol(job.job.protocol).server_knobs() and scenario.switch.knobs.reminder,
        multicast=sums(scenario.switch.program),
        racks=tuple(racks.values()) if len(job.hosts) > WIDTH else (),
    )


def _configs(
    scenario: Scenario,
    jobs: Iterable[PlannedJob],
    racks: Mapping[int, Mapping[str, tuple[int, ...]]],
    switch: SwitchConfig,
) -> Iterable[JobConfig]:
    """The configuration of one switch, if it sums: the jobs whose workers or server are at its ports."""
    if not sums(scenario.switch.program):
        return
    for job in jobs:
        own = racks[job.number]
        if switch.name in own or switch_of(scenario.topology, server_of(job)) == switch.name:
            yield job_config(scenario, job, own, switch)


def job_config(
    scenario: Scenario, job: PlannedJob, racks: Mapping[str, tuple[int, ...]], switch: SwitchConfig
) -> JobConfig:
    """The configuration of a switch for one job. `racks`: its ranks by switch."""
    server = server_of(job)
    collects = switch_of(scenario.topology, server) == switch.name
    alone = collects and list(racks) == [switch.name]
    own = list(racks).index(switch.name) if switch.name in racks else None
    return JobConfig(
        job=job.number,
        members=tuple(switch_member(switch, rank, host) for rank, host in enumerate(job.hosts)),
        service_mac=SERVICE_MAC,
        service_ip=SERVICE_IP,
        first_slot=0,
        slots=scenario.switch.memory,
        elements=_elements(scenario),
        arithmetic=_sums(job),
        server=switch_member(switch, -1, server),
        window=_window(scenario, job),
        levels=None if alone else RackLevels(tuple(racks.values()), own, collects),
    )
