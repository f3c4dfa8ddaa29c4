"""From a scenario to the hosts of DLCP jobs, and to the switches that add what workers at their ports send."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, RackLevels, partition
from testbed.plan.jobs import SERVICE_IP, SERVICE_MAC, PlannedJob, plan_jobs, ranks_by_switch, switch_member
from testbed.plan.model import Plan
from testbed.plan.switches import plan_switches
from testbed.protocols.dlcp.keys import DlcpKeys
from testbed.scenario.model import Scenario
from workloads.config import JobShare
from workloads.dlcp import DlcpConfig
from workloads.dlcp.classes import IMPORTANT_TOS
from workloads.wire import Envelope

__all__ = ["plan_dlcp"]

_ELEMENT_BYTES = 4
_SLOT_TIMERS = 8
"""in a timeout of the hosts, where a scenario says nothing"""


def plan_dlcp(scenario: Scenario) -> Plan:
    """Hosts job by job, in rank order, the server of each as its last one. UDP ports are drawn from the seed. Where
    switches add, every job has an equal part of each one's memory."""
    jobs, draw = plan_jobs(scenario), random.Random(f"plan {scenario.seed}")
    workers = tuple(host for job in jobs for host in _hosts(scenario, job, draw))
    plain = replace(scenario, switch=replace(scenario.switch, program="forward"))
    switches = plan_switches(plain, jobs[0].arithmetic)
    if _keys(jobs[0]).adds:
        parts = partition(scenario.switch.memory, 1, len(jobs))
        switches = tuple(
            replace(
                switch, program=scenario.switch.program, memory=scenario.switch.memory,
                jobs=tuple(_configs(scenario, jobs, parts, switch)),
            )
            for switch in switches
        )  # fmt: skip
    return Plan(scenario, workers, switches, ())


def _keys(job: PlannedJob) -> DlcpKeys:
    return job.job.own if isinstance(job.job.own, DlcpKeys) else DlcpKeys()


def _slot_timer_ns(scenario: Scenario, keys: DlcpKeys) -> int:
    return scenario.transport.chosen_rto_ns // _SLOT_TIMERS if keys.slot_timer_ns is None else keys.slot_timer_ns


def _elements(scenario: Scenario) -> int:
    """Of a full packet."""
    return scenario.transport.path_mtu // _ELEMENT_BYTES


def _configs(
    scenario: Scenario, jobs: Sequence[PlannedJob], parts: Iterable[tuple[int, int]], switch: SwitchConfig
) -> Iterable[JobConfig]:
    """The configuration of one switch: the jobs that have several senders at its ports. There is nothing to add to one
    sender."""
    for job, (first, slots) in zip(jobs, parts, strict=True):
        racks = ranks_by_switch(scenario.topology, job.hosts[:-1])
        if len(racks.get(switch.name, ())) < 2:
            continue
        *members, server = (switch_member(switch, rank, host) for rank, host in enumerate(job.hosts))
        yield JobConfig(
            job=job.number,
            members=(*members, server),
            service_mac=SERVICE_MAC,
            service_ip=SERVICE_IP,
            first_slot=first,
            slots=slots,
            elements=_elements(scenario),
            arithmetic=job.arithmetic,
            server=replace(server, rank=-1),
            window=-(-job.workloads[0].elements // _elements(scenario)),
            levels=RackLevels(tuple(racks.values()), list(racks).index(switch.name), collects=False),
            partial_after_ns=_slot_timer_ns(scenario, _keys(job)),
        )


def _hosts(scenario: Scenario, job: PlannedJob, draw: random.Random) -> Iterable[DlcpConfig]:
    """The window is never larger than the packets of a gradient."""
    keys, size = _keys(job), len(job.hosts)
    *senders, server = job.hosts
    for rank, (host, workload) in enumerate(zip(job.hosts, job.workloads, strict=True)):
        port = draw.randrange(0xC000, 0x10000)
        others = senders if host is server else [server]
        if keys.rings:
            others = [job.hosts[(rank + 1) % size], job.hosts[rank - 1]]
        config = DlcpConfig(
            name=host.name,
            collective=JobShare(job.job.protocol, job.number, rank, size, job.arithmetic),
            workload=workload,
            peers=tuple(Envelope(host.mac, to.mac, host.ip, to.ip, port, tos=IMPORTANT_TOS) for to in others),
            loss_bound=keys.loss_bound,
            important=keys.important,
            elements=_elements(scenario),
            rto_ns=scenario.transport.chosen_rto_ns,
            ring=keys.rings,
            service_ip=SERVICE_IP if keys.adds else b"",
        )
        yield replace(config, window=min(job.job.window_packets, config.packets))
