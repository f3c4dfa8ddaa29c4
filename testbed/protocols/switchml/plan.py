"""From a scenario to the workers of SwitchML jobs, and to the configuration of their switch."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, JobMember, RackLevels, partition
from testbed.faults.connections import Connection
from testbed.plan.jobs import (
    FIRST_JOB,
    SERVICE_IP,
    SERVICE_MAC,
    PlannedJob,
    job_members,
    plan_jobs,
    ranks_by_switch,
    switch_member,
)
from testbed.plan.model import Plan
from testbed.plan.pairs import BASE_VA, ECT0
from testbed.plan.switches import plan_switches
from testbed.protocols.switchml.checks_tiers import leaf_address, port_between, roots_of
from testbed.scenario.model import Scenario
from workloads.collectives.operations import ALL_REDUCE, OPERATIONS
from workloads.config import JobShare, WorkloadConfig
from workloads.errors import InternalError
from workloads.rc.numbers import any_psn, psn_of
from workloads.switchml import OmittedParts, SwitchMlConfig
from workloads.uc import UcPairs, service_qpn
from workloads.wire import Envelope

__all__ = ["plan_switchml"]

_FIRST_QPN, _LAST_QPN = 0x100, 0x10000
_ELEMENT_BYTES = 4
_VERSIONS = 2


def plan_switchml(scenario: Scenario) -> Plan:
    """Workers job by job, in rank order; UDP ports, and over UC queue pairs, are drawn from the seed. Every job has an
    equal part of the pool. Over UC a block is a message, of `Transport.uc_packets` packets."""
    jobs, stored = plan_jobs(scenario), _blocks_stored(scenario)
    parts = partition(stored, _VERSIONS, len(jobs))
    draw = random.Random(f"plan {scenario.seed}")
    workers = tuple(
        worker for job, part in zip(jobs, parts, strict=True) for worker in _workers(scenario, job, part, draw)
    )
    pairs = {(worker.group, worker.collective.rank): worker.uc for worker in workers}
    switches = tuple(
        replace(switch, rings=(), jobs=tuple(_configs(scenario, jobs, parts, pairs, switch)), memory=stored)
        for switch in plan_switches(scenario, jobs[0].arithmetic)
    )
    return Plan(scenario, workers, switches, tuple(_connections(workers)))


def _packets_of_block(scenario: Scenario) -> int:
    return scenario.transport.uc_packets if scenario.transport.framing == "uc" else 1


def _blocks_stored(scenario: Scenario) -> int:
    """The scenario counts the values of packets."""
    return scenario.switch.memory // _packets_of_block(scenario)


def _elements(scenario: Scenario) -> int:
    """Of a full block."""
    return scenario.transport.path_mtu * _packets_of_block(scenario) // _ELEMENT_BYTES


def _workers(
    scenario: Scenario, job: PlannedJob, part: tuple[int, int], draw: random.Random
) -> Iterable[SwitchMlConfig]:
    """The window is never larger than the job's part of the pool, nor than the blocks of a gradient."""
    transport, elements, (first, slots) = scenario.transport, _elements(scenario), part
    window = job.job.window_packets // _packets_of_block(scenario)
    for rank, (host, workload) in enumerate(zip(job.hosts, job.workloads, strict=True)):
        yield SwitchMlConfig(
            name=host.name,
            collective=JobShare("switchml", job.number, rank, len(job.hosts), job.arithmetic),
            workload=workload,
            envelope=Envelope(host.mac, SERVICE_MAC, host.ip, SERVICE_IP, draw.randrange(0xC000, 0x10000), tos=ECT0),
            elements=elements,
            first_slot=first,
            window=min(window, slots, -(-workload.elements // elements)),
            rto_ns=transport.chosen_rto_ns,
            uc=_uc_pairs(scenario, rank, first, draw) if transport.framing == "uc" else None,
            omitted=_omitted(job.job.operation, workload) if transport.framing == "udp" else None,
        )


def _omitted(operation: str, workload: WorkloadConfig) -> OmittedParts | None:
    """What an all-reduce of whole vectors need not carry when it stands for another operation. Of words that only move,
    the ranks that give them have the sum."""
    if operation == ALL_REDUCE:
        return None
    everything = 0, workload.elements
    given, wanted = workload.given or everything, workload.kept or everything
    is_own = not OPERATIONS[operation].sums and workload.kept is None
    return OmittedParts(given, wanted, given if is_own else (0, 0))


def _uc_pairs(scenario: Scenario, rank: int, first_slot: int, draw: random.Random) -> UcPairs:
    transport = scenario.transport
    psn, qpn, key = any_psn(draw.randrange), draw.randrange(_FIRST_QPN, _LAST_QPN), draw.randrange(1 << 31)
    return UcPairs(
        qpn=qpn,
        service_qpn=service_qpn(rank, first_slot),
        first_psn=psn if transport.start_psn is None else psn_of(transport.start_psn),
        va=BASE_VA * (rank + 1),
        rkey=key << 1,
        path_mtu=transport.path_mtu,
    )


def _connections(workers: Iterable[SwitchMlConfig]) -> Iterable[Connection]:
    """One for each worker and index of its window; none over UDP. A repetition is a message of its own, so that nothing
    can be said of messages beforehand."""
    for worker in workers:
        if worker.uc is None:
            continue
        own, service = worker.envelope.src_ip, worker.envelope.dst_ip
        for cell in range(worker.window):
            yield Connection(
                rank=worker.collective.rank,
                requests=(own, service, worker.uc.service_qpn + cell),
                answers=(service, own, worker.uc.qpn + cell),
                first_psn=worker.uc.first_psn,
                message_packets=(),
            )


def _configs(
    scenario: Scenario,
    jobs: Iterable[PlannedJob],
    parts: Iterable[tuple[int, int]],
    pairs: Mapping[tuple[int, int], UcPairs | None],
    switch: SwitchConfig,
) -> Iterable[JobConfig]:
    """The configuration of one switch: the jobs that it sums. `pairs`: by job and rank."""
    for job, (first, slots) in zip(jobs, parts, strict=True):
        racks = ranks_by_switch(scenario.topology, job.hosts)
        if len(racks) == 1:
            if switch.name not in racks:
                continue
            members, tiers = job_members(switch, job.hosts), _Tiers()
        else:
            root = _root(scenario, job, racks)
            if switch.name != root and switch.name not in racks:
                continue
            members = tuple(switch_member(switch, rank, host) for rank, host in enumerate(job.hosts))
            tiers = _tiers(scenario, racks, root, switch.name)
        yield JobConfig(
            job=job.number,
            members=tuple(replace(member, uc=pairs[job.number, member.rank]) for member in members),
            service_mac=SERVICE_MAC,
            service_ip=SERVICE_IP,
            first_slot=first,
            slots=slots,
            elements=_elements(scenario),
            arithmetic=job.arithmetic,
            levels=tiers.levels,
            leaves=tiers.leaves,
        )


def _root(scenario: Scenario, job: PlannedJob, racks: Mapping[str, tuple[int, ...]]) -> str:
    """Of several switches that can be it, jobs take one after the other. Raises InternalError where there is none."""
    roots = roots_of(scenario.topology, racks)
    if not roots:
        raise InternalError(f"job {job.number} over racks without a switch above them was not refused")
    return roots[(job.number - FIRST_JOB) % len(roots)]


@dataclass(frozen=True, slots=True)
class _Tiers:
    """Of a job, as one switch needs them."""

    levels: RackLevels | None = None
    leaves: tuple[JobMember, ...] = ()
    """leaf switches, with the ports that it uses"""


def _tiers(scenario: Scenario, racks: Mapping[str, tuple[int, ...]], root: str, here: str) -> _Tiers:
    """As the switch `here` needs them."""
    names = list(racks)
    own = names.index(here) if here in racks else None
    leaves = tuple(
        JobMember(
            number, *leaf_address(number),
            port_between(scenario.topology, root, leaf)
            if own is None
            else port_between(scenario.topology, here, root),
        )
        for number, leaf in enumerate(names)
    )  # fmt: skip
    return _Tiers(RackLevels(tuple(racks.values()), own, own is None), leaves)
