"""How much memory a run takes, from what the code holds; measured on real runs (`tests/testbed/estimate`).

While it runs, each worker holds its gradient and a result of the same size. The checkers then make the gradients of all
workers again, in the one process that judges. Each worker needs the source's and a copy of it. Each job needs
three more: the sum, a partial one, and the copy that sources are given. In the emulated world workers are processes of
their own, and gone by then. The history is in memory, too: how many records a byte of gradient makes depends on the
protocol.
"""

from __future__ import annotations

from dataclasses import dataclass

from testbed.kernel.free_memory import available_bytes, spare_bytes
from testbed.kernel.pages import does_matter
from testbed.plan import Plan
from testbed.plan.contract import planned_protocol
from testbed.plan.paths import ELEMENT_BYTES
from testbed.scenario.protocols.own_code import require
from testbed.terminal.numbers import byte_size
from workloads.config import HostConfig
from workloads.errors import HostCapabilityError
from workloads.ownvalues import Allowed

__all__ = ["MemoryNeed", "memory_need", "require_memory"]

_MIB = 1 << 20
_BASE = 60 * _MIB
"""the orchestrator: interpreter, NumPy, our modules"""
_NODE = 20 * _MIB
"""what a node process has for itself: rows of frames, its part of the interpreter"""
_SHARED = 65 * _MIB
"""what a node process has in common with the orchestrator until it takes copies (`testbed.kernel.pages`)"""
_SHARE = Allowed("a number from 0 to 1000", lambda share: not isinstance(share, bool) and 0 <= share <= 1000)
_WORKER_COPIES = 2
_REFERENCE_COPIES = 2
_REFERENCE_MORE = 3
_TOLD_OF_STEPS = 3.4
"""bytes of records, in memory, for each byte of gradient that a worker reduces, where steps are traced; added to
`PlannedProtocol.record_share`"""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes of this machine, about."""

    running: int
    """bytes while the traffic is on"""
    judging: int
    """bytes when the sums are compared with the reference"""
    spared: int = 0
    """part of `running` that is taken only where there is plenty"""

    @property
    def most(self) -> int:
        return max(self.running, self.judging)

    @property
    def least(self) -> int:
        """Without what can be spared."""
        return max(self.running - self.spared, self.judging)


def memory_need(plan: Plan) -> MemoryNeed:
    """Of a run in the world of the plan's scenario. In a lab, hosts hold their own gradients."""
    gradients = [_gradient_bytes(worker) for worker in plan.workers]
    jobs = sum(_gradient_bytes(workers[0]) for part in plan.parts for workers in part.groups.values())
    told = sum(
        _gradient_bytes(worker) * worker.workload.iterations * _told(part)
        for part in plan.parts
        for worker in part.workers
    )
    world = plan.scenario.world
    workers = 0 if world == "lab" else _WORKER_COPIES * sum(gradients)
    ahead = sum(_gradient_bytes(worker) * worker.workload.drawn_ahead for worker in plan.workers)
    nodes = len(plan.scenario.topology.nodes) if world == "emulated" else 0
    owned = nodes * _SHARED if does_matter(plan.scenario.dilation) else 0
    if owned and owned > spare_bytes():
        owned = 0
    running = _BASE + nodes * _NODE + owned + workers + ahead + told
    judging = _BASE + _REFERENCE_COPIES * sum(gradients) + _REFERENCE_MORE * jobs + told
    return MemoryNeed(int(running), int(judging), owned)


def require_memory(plan: Plan) -> None:
    """Raises HostCapabilityError, with both figures, when a run would take more than there is."""
    need, room = memory_need(plan).least, available_bytes()
    if need > room:
        raise HostCapabilityError(
            f"memory: {plan.scenario.name} takes about {byte_size(need)} in the {plan.scenario.world} world, and "
            f"{byte_size(room)} are available",
            "fewer hosts, or smaller gradients (job.size, or job.scale of a model), take less",
        )


def _gradient_bytes(worker: HostConfig) -> int:
    return worker.workload.elements * ELEMENT_BYTES


def _told(plan: Plan) -> float:
    protocol = planned_protocol(plan.scenario.job.protocol)
    share: float = require(protocol.record_share, protocol.record_share(), _SHARE)
    return share + (_TOLD_OF_STEPS if plan.scenario.trace else 0.0)
