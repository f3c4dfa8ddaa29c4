"""The plan of an all-reduce that is a schedule of transfers between pairs of ranks (`workloads.collectives.pairs`): a
ring of two for each of its phases, over plain switches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from testbed.plan.connections import plan_connections
from testbed.plan.irn import irn_config
from testbed.plan.jobs import plan_jobs
from testbed.plan.model import Plan
from testbed.plan.phases import PhaseRing, phased_workers
from testbed.plan.switches import plan_switches
from testbed.scenario.model import Job, Scenario
from workloads.collectives.operations import OPERATIONS
from workloads.collectives.pairs import Schedule

__all__ = ["plan_schedule", "slowest_host_bps"]


def plan_schedule(
    schedules: Mapping[str, Schedule], scenario: Scenario, options: Callable[[Job], Mapping[str, object]]
) -> Plan:
    """Queue pairs, PSNs and keys of all pairs are drawn from the seed. `schedules`: by `job.operation`. `options`: what
    a job's own keys tell the schedule."""
    (only,) = plan_jobs(scenario)
    hosts, job = only.hosts, only.job
    root = {"root": job.root} if OPERATIONS[job.operation].has_root else {}
    phases = schedules[job.operation](len(hosts), only.workloads[0].elements, **options(job), **root)
    rings = [
        PhaseRing(
            phase.step, phase.name, phase.kind, number, tuple(hosts[rank] for rank in phase.ranks),
            phase.first_element, phase.elements, phase.sides,
        )
        for number, phase in enumerate(phases, 1)
    ]  # fmt: skip
    pairs = tuple({(ring.hosts[0], ring.hosts[1]) for ring in rings})
    irn = irn_config(scenario, pairs) if scenario.transport.speaks_irn else None
    workers = phased_workers(scenario, hosts, rings, only.workloads, irn)
    return Plan(scenario, workers, plan_switches(scenario, only.arithmetic), plan_connections(workers))


def slowest_host_bps(plan: Plan) -> float:
    """Bits of gradient per second that framing leaves of the slowest link of a host. Its steps follow one another, so
    that they do not share it."""
    topology, framing = plan.scenario.topology, plan.workers[0].framing
    rate_bps = min(link.shape.rate_bps for worker in plan.workers for _, link, _ in topology.ports(worker.name))
    return rate_bps * framing.payload_bytes / framing.frame_bytes
