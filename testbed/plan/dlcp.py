"""From a scenario to the hosts of DLCP jobs; switches only forward."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from testbed.plan.jobs import PlannedJob, plan_jobs
from testbed.plan.model import Plan
from testbed.plan.switches import plan_switches
from testbed.scenario.dlcp_keys import DlcpKeys
from testbed.scenario.model import Scenario
from workloads.config import JobShare
from workloads.dlcp import DlcpConfig
from workloads.dlcp.classes import IMPORTANT_TOS
from workloads.wire import Envelope

__all__ = ["plan_dlcp"]

_ELEMENT_BYTES = 4


def plan_dlcp(scenario: Scenario) -> Plan:
    """Hosts job by job, in rank order, the server of each as its last one. UDP ports are drawn from the seed."""
    jobs, draw = plan_jobs(scenario), random.Random(f"plan {scenario.seed}")
    workers = tuple(host for job in jobs for host in _hosts(scenario, job, draw))
    return Plan(scenario, workers, plan_switches(scenario, jobs[0].arithmetic), ())


def _hosts(scenario: Scenario, job: PlannedJob, draw: random.Random) -> Iterable[DlcpConfig]:
    """The window is never larger than the packets of a gradient."""
    keys = job.job.own if isinstance(job.job.own, DlcpKeys) else DlcpKeys()
    *senders, server = job.hosts
    for rank, (host, workload) in enumerate(zip(job.hosts, job.workloads, strict=True)):
        port = draw.randrange(0xC000, 0x10000)
        others = senders if host is server else [server]
        config = DlcpConfig(
            name=host.name,
            collective=JobShare(job.job.collective, job.number, rank, len(job.hosts), job.arithmetic),
            workload=workload,
            peers=tuple(Envelope(host.mac, to.mac, host.ip, to.ip, port, tos=IMPORTANT_TOS) for to in others),
            loss_bound=keys.loss_bound,
            important=keys.important,
            elements=scenario.transport.path_mtu // _ELEMENT_BYTES,
            rto_ns=scenario.transport.rto_ns,
        )
        yield replace(config, window=min(job.job.window_packets, config.packets))
