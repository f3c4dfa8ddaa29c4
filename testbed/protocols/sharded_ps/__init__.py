"""A sharded parameter server: every host serves its share of the gradient (docs/sharded-ps.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.scheduled import ScheduledProtocol
from testbed.reading.problems import Problems
from testbed.scenario.keys.job import Job
from topologies import Topology
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import HostConfig
from workloads.sharded_ps.schedule import sharded_ps

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections

__all__ = ["PROTOCOL"]


def check_shares(problems: Problems, topology: Topology, job: Job) -> None:
    """Every rank serves a part of the gradient."""
    ranks = len(job.hosts) or len(topology.hosts)
    if job.workload != "digits" and job.size_bytes < 4 * ranks:
        problems.add(
            ("job", "size"),
            "sharded_ps lets each rank serve a part of the gradient, and there is not an element for each",
            found=f"{job.size_bytes} bytes",
            allowed=f"at least {4 * ranks} bytes ({ranks} ranks)",
        )


class _ShardedPs(ScheduledProtocol):
    def check(self, sections: KnownSections) -> None:
        super().check(sections)
        check_shares(sections.problems, sections.topology, sections.job)

    def gradients(self, ranks: int) -> float:
        return 2 * (ranks - 1) / ranks

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import in_ring_order  # when a run is judged

        return in_ring_order(plan, workers, gradients)


PROTOCOL = _ShardedPs(
    name="sharded_ps",
    title="Sharded parameter server",
    summary="sharded parameter server: every host sums its share of the gradient and gives it to all (program forward)",
    schedules={ALL_REDUCE: sharded_ps},
)
