"""What SwitchML's workers and switch wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from switch_nodes.jobs import JobConfig
from switch_nodes.switchml.pool import VERSIONS
from switch_nodes.switchml.tables import PoolSlotState
from testbed.explain.contract import NodeWait
from testbed.plan import Plan
from testbed.protocols.parts.waits_blocks import waits_for_blocks
from workloads.automaton import number_of

__all__ = ["waits_in"]

_FILLING, _WAITING = number_of(PoolSlotState.FILLING), number_of(PoolSlotState.WAITING)


def waits_in(machines: Mapping[str, Any], plan: Plan) -> Iterator[NodeWait]:
    """`machines`: those that live, by node."""
    places = [(switch.name, job) for switch in plan.switches for job in switch.jobs]
    for worker in plan.workers:
        if worker.name in machines:
            machine = machines[worker.name]
            switch = next(name for name, job in places if job.job == worker.group and _is_at(job, worker))
            yield from waits_for_blocks(worker.name, machine, switch, _outstanding(machine._window))
    for switch, job in places:
        program = machines.get(switch)
        if program is not None and job.job in program.served:
            below, above = _around(plan, job)
            yield from _of_pool(switch, program.served[job.job], below, above)


def _is_at(job: JobConfig, worker: Any) -> bool:
    """Whether the worker's packets go to this switch of its job."""
    levels = job.levels
    return levels is None or (levels.own is not None and worker.collective.rank in levels.racks[levels.own])


def _around(plan: Plan, job: JobConfig) -> tuple[list[str], str]:
    """Names of what the switch sums of, member by member, and of the root above it, if it is a leaf."""
    workers, levels = [worker.name for worker in plan.groups[job.job]], job.levels
    if levels is None:
        return workers, ""
    others = {
        other.levels.own: switch.name
        for switch in plan.switches
        for other in switch.jobs
        if other.job == job.job and other.levels is not None
    }
    if levels.own is None:
        return [others[rack] for rack in range(len(levels.racks))], ""
    return [workers[rank] for rank in levels.racks[levels.own]], others[None]


def _of_pool(switch: str, pool: Any, below: Sequence[str], above: str) -> Iterator[NodeWait]:
    for slot in range(VERSIONS * pool.slots):
        state = pool.state(slot)
        if state == _WAITING:
            yield NodeWait(switch, f"the sum of block {pool.block[slot]}", above)
        elif state == _FILLING:
            for member, name in enumerate(below):
                if not pool.seen[slot] >> member & 1:
                    yield NodeWait(switch, f"block {pool.block[slot]} of {name}", name)


def _outstanding(window: Any) -> Iterator[tuple[int, int]]:
    for index in range(window.window):
        packet = window._outstanding[index]
        if packet >= 0 and window._tries[index]:
            yield packet, window._deadline[index]
