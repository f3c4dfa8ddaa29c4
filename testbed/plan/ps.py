"""From a scenario to the workers, parameter servers and switches of plain parameter-server jobs: ATP's, told which of
the two optimisations there are."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from testbed.plan.atp import plan_atp
from testbed.plan.model import Plan
from testbed.scenario.model import Scenario
from testbed.scenario.ps_keys import PsKeys
from workloads.atp import AtpConfig
from workloads.server import ServedJob

__all__ = ["keys_of_ps", "plan_ps"]


def keys_of_ps(scenario: Scenario) -> PsKeys:
    """All jobs of a scenario share them."""
    own = scenario.job.own
    return own if isinstance(own, PsKeys) else PsKeys()


def plan_ps(scenario: Scenario) -> Plan:
    keys, plan = keys_of_ps(scenario), plan_atp(scenario)
    in_order = scenario.topology.multipath != "spray"
    planned = cast(tuple[AtpConfig, ...], plan.workers)
    blocks = {worker.group: -(-worker.workload.elements // worker.elements) for worker in planned}
    windows = {} if keys.streaming else blocks
    workers = tuple(
        replace(worker, window=windows.get(worker.group, worker.window), in_order=in_order) for worker in planned
    )
    switches = tuple(
        replace(
            switch,
            jobs=tuple(
                replace(job, adds=keys.aggregation, window=windows.get(job.job, job.window))
                for job in switch.jobs
                if keys.aggregation or keys.multicast
            ),
        )
        for switch in plan.switches
    )

    def served(job: ServedJob) -> ServedJob:
        return replace(
            job,
            multicast=keys.multicast,
            window=windows.get(job.job, job.window),
            gradient_blocks=windows.get(job.job, 0),
        )

    servers = tuple(replace(server, jobs=tuple(map(served, server.jobs))) for server in plan.servers)
    return replace(plan, workers=workers, switches=switches, servers=servers)
