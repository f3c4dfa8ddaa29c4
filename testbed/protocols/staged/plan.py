"""The plan of a parallelisation strategy: a ring over all hosts for each transfer of an iteration."""

from __future__ import annotations

from dataclasses import replace

from switch_nodes.config import SwitchConfig
from testbed.plan.connections import plan_connections
from testbed.plan.jobs import plan_jobs
from testbed.plan.model import Plan
from testbed.plan.phases import PhaseRing, phased_workers
from testbed.plan.switches import leaf_sizes, plan_switches
from testbed.protocols.staged.keys import StrategyKeys
from testbed.scenario.model import Scenario
from workloads.collectives.kinds import ring_kind
from workloads.strategies.stages import RESHARD

__all__ = ["plan_strategy"]


def plan_strategy(scenario: Scenario) -> Plan:
    """Queue pairs, PSNs and keys of all rings are drawn from the seed."""
    (only,) = plan_jobs(scenario)
    keys: StrategyKeys = scenario.job.own
    stages, rings, first = keys.stages(len(only.hosts)), list[PhaseRing](), 0
    for number, stage in enumerate(stages, 1):
        kind = "all_gather" if stage.kind == RESHARD else keys.all_reduce
        rings.append(PhaseRing(number, stage.name, kind, number, only.hosts, first, stage.elements))
        first += stage.elements
    workers = tuple(
        replace(
            worker,
            phases=tuple(
                replace(phase, compute_ns=stage.compute_ns, apart=True)
                for phase, stage in zip(worker.phases, stages, strict=True)
            ),
        )
        for worker in phased_workers(scenario, only.hosts, rings, only.workloads, wait_for_acks=False)
    )
    summed = [ring.ring_id for ring in rings if ring_kind(ring.kind).is_summed]
    switches = tuple(_with_rings(switch, summed) for switch in plan_switches(scenario, only.arithmetic))
    return Plan(scenario, workers, switches, plan_connections(workers), leaf_sizes(switches))


def _with_rings(switch: SwitchConfig, numbers: list[int]) -> SwitchConfig:
    """The one ring that a switch serves, once for each of these ids; none of them: it only forwards."""
    rings = tuple(replace(ring, ring_id=number) for number in numbers for ring in switch.rings)
    return replace(switch, rings=rings)
