"""From a scenario to the donors, newcomers and switches of repair jobs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, partition
from switch_nodes.kinds import sums
from testbed.plan.jobs import SERVICE_IP, SERVICE_MAC, PlannedJob, plan_jobs, switch_member, tree_links
from testbed.plan.model import Plan
from testbed.plan.pairs import ECT0
from testbed.plan.switches import plan_switches
from testbed.scenario.model import Scenario
from topologies.routing import Junction, combining_trees
from workloads.config import JobShare
from workloads.repair import RepairConfig
from workloads.wire import Envelope

__all__ = ["plan_repair"]

_ELEMENT_BYTES = 4


def plan_repair(scenario: Scenario) -> Plan:
    """Hosts job by job, in rank order: the donors, then the newcomer. UDP ports are drawn from the seed. Every job has
    an equal part of each switch's memory, and a combining tree of its own."""
    jobs, combined = plan_jobs(scenario), sums(scenario.switch.program)
    memory = scenario.switch.memory
    parts = partition(memory, 1, len(jobs)) if combined else ((0, max(1, memory)),) * len(jobs)
    draw = random.Random(f"plan {scenario.seed}")
    workers = tuple(
        worker for job, part in zip(jobs, parts, strict=True) for worker in _hosts(scenario, job, part, combined, draw)
    )
    plain = replace(scenario, switch=replace(scenario.switch, program="forward"))
    switches = plan_switches(plain, jobs[0].arithmetic)
    if combined:
        trees = [_tree(scenario, job) for job in jobs]
        switches = tuple(
            replace(
                switch, program=scenario.switch.program, memory=memory,
                jobs=tuple(_configs(scenario, jobs, parts, trees, switch)),
            )
            for switch in switches
        )  # fmt: skip
    return Plan(scenario, workers, switches, ())


def _elements(scenario: Scenario) -> int:
    """Of a full packet."""
    return scenario.transport.path_mtu // _ELEMENT_BYTES


def _hosts(
    scenario: Scenario, job: PlannedJob, part: tuple[int, int], combined: bool, draw: random.Random
) -> Iterable[RepairConfig]:
    """The window is never larger than the job's part of the memory, nor than the packets of a symbol."""
    keys, (first, slots) = job.job.own, part
    *donors, newcomer = job.hosts
    ports = [draw.randrange(0xC000, 0x10000) for _ in job.hosts]
    for rank, (host, workload) in enumerate(zip(job.hosts, job.workloads, strict=True)):
        if combined:
            others = [(SERVICE_MAC, SERVICE_IP)]
        else:
            others = [(to.mac, to.ip) for to in (donors if host == newcomer else [newcomer])]
        config = RepairConfig(
            name=host.name,
            collective=JobShare("repair", job.number, rank, len(job.hosts), job.arithmetic),
            workload=workload,
            share=keys.share,
            answers=tuple(Envelope(host.mac, mac, host.ip, ip, ports[rank], tos=ECT0) for mac, ip in others),
            combined=combined,
            op=keys.combine,
            elements=_elements(scenario),
            first_slot=first,
            rto_ns=scenario.transport.chosen_rto_ns,
        )
        yield replace(config, window=min(job.job.window_packets, slots if combined else 1 << 15, config.blocks))


def _tree(scenario: Scenario, job: PlannedJob) -> Mapping[str, Junction]:
    *donors, newcomer = (host.name for host in job.hosts)
    trees = combining_trees(scenario.topology, newcomer, donors)
    return trees[job.number % len(trees)]


def _configs(
    scenario: Scenario,
    jobs: Iterable[PlannedJob],
    parts: Iterable[tuple[int, int]],
    trees: Iterable[Mapping[str, Junction]],
    switch: SwitchConfig,
) -> Iterable[JobConfig]:
    """The configuration of one switch: the jobs whose trees contain it."""
    for job, (first, slots), tree in zip(jobs, parts, trees, strict=True):
        if switch.name not in tree:
            continue
        yield JobConfig(
            job=job.number,
            members=tuple(switch_member(switch, rank, host) for rank, host in enumerate(job.hosts)),
            service_mac=SERVICE_MAC,
            service_ip=SERVICE_IP,
            first_slot=first,
            slots=slots,
            elements=_elements(scenario),
            arithmetic=job.arithmetic,
            tree=tree_links(scenario.topology, job.hosts, switch.name, tree[switch.name]),
        )
