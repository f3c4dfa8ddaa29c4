"""How much memory a run takes, from what the code holds; measured on real runs (`tests/testbed/estimate`).

While it runs, each worker holds its gradient and a result of the same size. The checkers then make the gradients of all
workers anew, in the one process that judges: the source's and a copy of it for each worker, and three more of each job
(the sum, a partial one, and the copy that sources are given). In the emulated world workers are processes of their own,
and gone by then. The history is in memory, too: how many records a byte of gradient makes depends on the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from testbed.kernel.room import address_space
from testbed.plan import Plan
from testbed.plan.paths import ELEMENT_BYTES
from testbed.report.lines import byte_size
from testbed.scenario.known import traits_of
from workloads.config import HostConfig
from workloads.errors import HostCapabilityError

__all__ = ["MemoryNeed", "available_bytes", "memory_need", "require_memory"]

_MIB = 1 << 20
_BASE = 120 * _MIB
"""the orchestrator: interpreter, NumPy, our modules"""
_NODE = 20 * _MIB
"""what a node process has for itself: rows of frames, its part of the interpreter"""
_WORKER_COPIES = 2
_REFERENCE_COPIES = 2
_REFERENCE_MORE = 3
_TOLD_OF_STEPS = 3.4
"""bytes of records, in memory, for each byte of gradient that a worker reduces, where steps are traced, beside
`Traits.told_share`"""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes of this machine, about."""

    running: int
    """while the traffic is on"""
    judging: int
    """when the sums are compared with the reference"""

    @property
    def most(self) -> int:
        return max(self.running, self.judging)


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
    nodes = len(plan.scenario.topology.nodes) * _NODE if world == "emulated" else 0
    running = _BASE + nodes + workers + told
    judging = _BASE + _REFERENCE_COPIES * sum(gradients) + _REFERENCE_MORE * jobs + told
    return MemoryNeed(int(running), int(judging))


def available_bytes() -> int:
    """What processes of ours may still take: of the machine, of its control groups, of this process's limit."""
    rooms = [_of_machine(), *_of_groups()]
    limit = address_space()
    if limit is not None:
        rooms.append(limit)
    return max(0, min(rooms))


def require_memory(plan: Plan) -> None:
    """Raises HostCapabilityError, with both figures, when a run would take more than there is."""
    need, room = memory_need(plan).most, available_bytes()
    if need > room:
        raise HostCapabilityError(
            f"memory: {plan.scenario.name} takes about {byte_size(need)} in the {plan.scenario.world} world, and "
            f"{byte_size(room)} are available",
            "fewer hosts, or smaller gradients (job.size, or job.scale of a model), take less",
        )


def _gradient_bytes(worker: HostConfig) -> int:
    return worker.workload.elements * ELEMENT_BYTES


def _told(plan: Plan) -> float:
    return traits_of(plan.scenario.job.collective).told_share + (_TOLD_OF_STEPS if plan.scenario.trace else 0.0)


def _of_machine() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) * 1024
    return 1 << 62


def _of_groups(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """What is left of the limits of our control group and those above it, where there are any (versions 1 and 2)."""
    found = []
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory") and "memory" not in controllers.split(","):
            continue
        names = (
            ("memory.max", "memory.current") if not controllers else ("memory.limit_in_bytes", "memory.usage_in_bytes")
        )
        folder = root / path.strip("/") if not controllers else root / "memory" / path.strip("/")
        top = root if not controllers else root / "memory"
        for place in (folder, *folder.parents):
            room = _room(place, *names)
            if room is not None:
                found.append(room)
            if place == top:
                break
    return found


def _room(folder: Path, limit: str, used: str) -> int | None:
    try:
        most, now = ((folder / name).read_text(encoding="ascii").strip() for name in (limit, used))
        return None if most == "max" else int(most) - int(now)
    except (OSError, ValueError):
        return None
