"""Every operation over connections between every two hosts. No switch takes part (docs/operations.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.hunt.contract import Hunt
from testbed.protocols.parts.checks_pairs import check_pairs
from testbed.protocols.parts.connected import ConnectedProtocol
from workloads.collectives.moves import MOVES
from workloads.collectives.operations import OPERATIONS
from workloads.config import HostConfig

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario

__all__ = ["PROTOCOL"]


class _Mesh(ConnectedProtocol):
    def operations(self) -> tuple[str, ...]:
        return tuple(name for name in OPERATIONS if name in MOVES)

    def check(self, sections: KnownSections) -> None:
        check_pairs(sections.problems, sections.job, sections.nics)

    def why_no_clamping(self) -> str:
        return "a mesh adds step by step and would clamp early"

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.mesh.plan import plan_mesh  # when a plan is made

        return plan_mesh(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        from testbed.protocols.mesh.plan import times_of_vector  # when a run is measured

        # Connections of a host take turns, so its link is not divided among them.
        topology, framing = plan.scenario.topology, plan.workers[0].framing
        rate_bps = min(link.shape.rate_bps for worker in plan.workers for _, link, _ in topology.ports(worker.name))
        times = times_of_vector(plan.scenario.job.operation, len(plan.workers))
        return rate_bps * framing.payload_bytes / framing.frame_bytes / (times or 1)

    def record_share(self) -> float:
        return 0.5

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.folds import ring_fold, tree_fold  # when a run is judged
        from testbed.checkers.operations import held_by_ranks

        job, arithmetic = plan.scenario.job, workers[0].collective.arithmetic
        if job.operation == "reduce":
            total = tree_fold(gradients, arithmetic, job.root)
        else:
            total = ring_fold(gradients, arithmetic, first=int(job.operation == "reduce_scatter"))
        return held_by_ranks(job.operation, job.root, gradients, total)

    def hunt(self) -> Hunt:
        from testbed.hunt.kinds import PAIRS_HUNT  # when schedules are drawn

        return PAIRS_HUNT


PROTOCOL = _Mesh(
    name="mesh",
    title="Mesh",
    summary="any operation over connections between every two hosts: rings, trees, pairs (program forward)",
)
