"""What the workers, switches and servers of protocols with a parameter server wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from testbed.explain.contract import NodeWait
from testbed.plan import Plan
from testbed.protocols.parts.waits_blocks import waits_for_blocks

__all__ = ["waits_with_server"]


def waits_with_server(machines: Mapping[str, Any], plan: Plan) -> Iterator[NodeWait]:
    """`machines`: those that live, by node."""
    servers = {job.job: server.name for server in plan.servers for job in server.jobs}
    names = {job: [worker.name for worker in workers] for job, workers in plan.groups.items()}
    for worker in plan.workers:
        if worker.name in machines:
            machine = machines[worker.name]
            yield from waits_for_blocks(worker.name, machine, servers[worker.group], _outstanding(machine._window))
    for server in plan.servers:
        for job, served in getattr(machines.get(server.name), "_jobs", {}).items():
            for block in served._open.values():
                for name in _missing(block.bitmap, names[job]):
                    yield NodeWait(server.name, f"block {block.number} of {name}", name, block.deadline)
    for switch in plan.switches:
        memory = getattr(machines.get(switch.name), "memory", None)
        for slot in getattr(memory, "slots", ()):
            if slot is not None and slot.bitmap != slot.target:
                for name in _missing(slot.bitmap, names[slot.job]):
                    yield NodeWait(switch.name, f"block {slot.block} of {name}", name)


def _missing(bitmap: int, names: Sequence[str]) -> list[str]:
    return [name for rank, name in enumerate(names) if not bitmap >> rank & 1]


def _outstanding(window: Any) -> Iterator[tuple[int, int]]:
    for packet in range(window.base, window.next):
        if window.is_outstanding(packet):
            yield packet, window._deadline[packet % window.window]
