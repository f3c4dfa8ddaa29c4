"""What SwitchML's workers and switch wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from switch_nodes.switchml.pool import VERSIONS
from switch_nodes.switchml.tables import PoolSlotState
from testbed.explain.contract import NodeWait
from testbed.plan import Plan
from testbed.protocols.parts.waits_blocks import waits_for_blocks
from workloads.automaton import number_of

__all__ = ["waits_in"]

_FILLING = number_of(PoolSlotState.FILLING)


def waits_in(machines: Mapping[str, Any], plan: Plan) -> Iterator[NodeWait]:
    """`machines`: those that live, by node."""
    switch = plan.switches[0].name
    for worker in plan.workers:
        if worker.name in machines:
            machine = machines[worker.name]
            yield from waits_for_blocks(worker.name, machine, switch, _outstanding(machine._window))
    program = machines.get(switch)
    for job, pool in program.served.items() if program is not None else ():
        names = [worker.name for worker in plan.groups[job]]
        for slot in range(VERSIONS * pool.slots):
            if pool.state(slot) != _FILLING:
                continue
            for rank, name in enumerate(names):
                if not pool.seen[slot] >> rank & 1:
                    yield NodeWait(switch, f"block {pool.block[slot]} of {name}", name)


def _outstanding(window: Any) -> Iterator[tuple[int, int]]:
    for index in range(window.window):
        packet = window._outstanding[index]
        if packet >= 0 and window._tries[index]:
            yield packet, window._deadline[index]
