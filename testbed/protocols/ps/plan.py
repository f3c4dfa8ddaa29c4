"""From a scenario to the workers, parameter servers and switches of plain parameter-server jobs.

The plan is that of ATP, with the two optimisations that the scenario chooses and the trees that they use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig
from testbed.plan.jobs import PlannedJob, plan_jobs, ranks_by_switch, tree_links
from testbed.plan.model import Plan
from testbed.protocols.parts.plan_atp import job_config, plan_atp, server_of
from testbed.protocols.ps.keys import PsKeys
from testbed.scenario.model import Scenario
from topologies.routing import Junction, combining_trees
from workloads.atp import AtpConfig
from workloads.server import JobOfServer

__all__ = ["keys_of_ps", "plan_ps"]

Tree = Mapping[str, Junction]


def keys_of_ps(scenario: Scenario) -> PsKeys:
    """All jobs of a scenario share them."""
    own = scenario.job.own
    return own if isinstance(own, PsKeys) else PsKeys()


def plan_ps(scenario: Scenario) -> Plan:
    keys, plan = keys_of_ps(scenario), plan_atp(scenario)
    planned = cast(tuple[AtpConfig, ...], plan.workers)
    blocks = {worker.group: -(-worker.workload.elements // worker.elements) for worker in planned}
    windows = {} if keys.streaming else blocks
    helped = keys.aggregation or keys.multicast
    jobs = [(job, _trees(scenario, job)) for job in plan_jobs(scenario)] if helped else []
    ways = {job.number: len(trees) for job, trees in jobs} if keys.aggregation and keys.multicast else {}
    others = 0 if scenario.topology.multipath == "spray" else 1
    workers = tuple(
        replace(
            worker,
            window=windows.get(worker.group, worker.window),
            ways=ways.get(worker.group, others),
        )
        for worker in planned
    )

    def told(job: JobConfig) -> JobConfig:
        return replace(job, adds=keys.aggregation, window=windows.get(job.job, job.window))

    def served(job: JobOfServer) -> JobOfServer:
        return replace(
            job,
            multicast=keys.multicast,
            window=windows.get(job.job, job.window),
            gradient_blocks=windows.get(job.job, 0),
        )

    switches = tuple(
        replace(switch, jobs=tuple(told(job) for each in jobs for job in _configs(scenario, *each, switch)))
        for switch in plan.switches
    )
    servers = tuple(replace(server, jobs=tuple(map(served, server.jobs))) for server in plan.servers)
    return replace(plan, workers=workers, switches=switches, servers=servers)


def _trees(scenario: Scenario, job: PlannedJob) -> tuple[Tree, ...]:
    """As packets take equal paths there: all of a job one tree, each job another; or, sprayed, block by block
    another."""
    trees = combining_trees(scenario.topology, server_of(job).name, [host.name for host in job.hosts])
    return trees if scenario.topology.multipath == "spray" else (trees[job.number % len(trees)],)


def _configs(scenario: Scenario, job: PlannedJob, trees: tuple[Tree, ...], switch: SwitchConfig) -> Iterator[JobConfig]:
    """The configuration of a switch for a job, if the switch is in one of the job's trees."""
    if any(switch.name in tree for tree in trees):
        places = tuple(
            tree_links(scenario.topology, job.hosts, switch.name, tree[switch.name]) if switch.name in tree else None
            for tree in trees
        )
        racks = ranks_by_switch(scenario.topology, job.hosts)
        yield replace(job_config(scenario, job, racks, switch), trees=places)
