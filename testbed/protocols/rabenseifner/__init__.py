"""Rabenseifner's all-reduce: recursive halving, then doubling, between pairs of hosts (docs/pairs.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.scheduled import ScheduledProtocol
from testbed.protocols.rabenseifner.checks import check_halves
from testbed.protocols.rabenseifner.keys import RabenseifnerKeys
from testbed.scenario.model import Job
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import HostConfig
from workloads.rabenseifner.schedule import rabenseifner

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.hunt.contract import Hunt
    from testbed.plan.model import Plan
    from testbed.scale.model import RackModel
    from testbed.scenario.checks.sections import KnownSections

__all__ = ["PROTOCOL"]


def _keys(job: Job) -> RabenseifnerKeys:
    return job.own if isinstance(job.own, RabenseifnerKeys) else RabenseifnerKeys()


class _Rabenseifner(ScheduledProtocol):
    def check(self, sections: KnownSections) -> None:
        super().check(sections)
        check_halves(sections.problems, sections.topology, sections.job)

    def gradients(self, ranks: int) -> float:
        """2 (D - 1) / D, D being the largest power of two in the ranks, and one to fold in and one out where they are
        more."""
        within = 1 << ranks.bit_length() - 1
        return 2 * (within - 1) / within + 2 * (ranks != within)

    def options(self, job: Job) -> Mapping[str, object]:
        return {"far_first": _keys(job).far_first}

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import in_far_pairs, in_pairs  # when a run is judged

        add = in_far_pairs if _keys(plan.scenario.job).far_first else in_pairs
        return add(plan, workers, gradients)

    def hunt(self) -> Hunt:
        from testbed.protocols.rabenseifner.hunt import HUNT  # when schedules are drawn

        return HUNT

    def rack_model(self) -> RackModel:
        from testbed.protocols.rabenseifner.scale import MODEL  # when a large system is estimated

        return MODEL


PROTOCOL = _Rabenseifner(
    name="rabenseifner",
    title="Rabenseifner",
    summary="Rabenseifner's all-reduce: recursive halving, then doubling (program forward)",
    schedules={ALL_REDUCE: rabenseifner},
    job_keys=RabenseifnerKeys,
)
