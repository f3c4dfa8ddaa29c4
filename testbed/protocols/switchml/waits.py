"""What SwitchML's workers and switch wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from switch_nodes.switchml.pool import VERSIONS
from switch_nodes.switchml.tables import PoolSlotState
from testbed.explain.contract import NodeWait
from testbed.plan import Plan
from workloads.automaton import number_of

__all__ = ["waits_in"]

_FILLING = number_of(PoolSlotState.FILLING)


def waits_in(machines: Mapping[str, Any], plan: Plan) -> Iterator[NodeWait]:
    """`machines`: those that live, by node."""
    switch = plan.switches[0].name
    for worker in plan.workers:
        if worker.name in machines:
            yield from _of_worker(worker.name, machines[worker.name], switch)
    program = machines.get(switch)
    for job, pool in program.served.items() if program is not None else ():
        names = [worker.name for worker in plan.groups[job]]
        for slot in range(VERSIONS * pool.slots):
            if pool.state(slot) != _FILLING:
                continue
            for rank, name in enumerate(names):
                if not pool.seen[slot] >> rank & 1:
                    yield NodeWait(switch, f"block {pool.block[slot]} of {name}", name)


def _of_worker(name: str, worker: Any, switch: str) -> Iterator[NodeWait]:
    if worker.finished or worker.failed:
        return
    window = worker._window
    if worker._tensor is None:
        yield NodeWait(name, "the start of its iteration", name, worker._training.get_timer())
        return
    for index in range(window.window):
        packet = window._outstanding[index]
        if packet >= 0 and window._tries[index]:
            deadline = window._deadline[index]
            yield NodeWait(name, f"the result of block {packet}", switch, deadline if deadline >= 0 else None)
