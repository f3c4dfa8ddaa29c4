"""All-reduces that are a schedule of transfers between pairs of ranks, over RC connections and plain switches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.hunt.contract import Hunt
from testbed.protocols.parts.checks_pairs import check_pairs
from testbed.protocols.parts.connected import ConnectedProtocol
from workloads.collectives.operations import ALL_REDUCE, OPERATIONS
from workloads.collectives.pairs import PairPhase, Schedule

if TYPE_CHECKING:
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Job, Scenario

__all__ = ["ScheduledProtocol"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScheduledProtocol(ConnectedProtocol):
    """A protocol needs `order` and `gradients` in addition to these fields."""

    schedules: Mapping[str, Schedule]
    """by `job.operation`: (ranks, elements, with options by name) -> its transfers"""

    @abstractmethod
    def gradients(self, ranks: int) -> float:
        """How many times a gradient's own time on a link an all-reduce takes, without latencies; any other operation
        takes half of it."""

    def operations(self) -> tuple[str, ...]:
        return tuple(self.schedules)

    def transfers(self, operation: str, ranks: int, elements: int, job: Job) -> tuple[PairPhase, ...] | None:
        if operation not in self.schedules:
            return None
        root = {"root": job.root} if OPERATIONS[operation].has_root else {}
        return self.schedules[operation](ranks, elements, **self.options(job), **root)

    def options(self, job: Job) -> Mapping[str, object]:
        """What the keys of a job tell the schedule, by name."""
        return {}

    def check(self, sections: KnownSections) -> None:
        check_pairs(sections.problems, sections.job, sections.nics)

    def why_no_clamping(self) -> str:
        return "pairs add step by step and would clamp early"

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.parts.plan_scheduled import plan_schedule  # when a plan is made

        return plan_schedule(self.schedules, scenario, self.options)

    def bound(self, plan: Plan, link_bps: float) -> float:
        from testbed.protocols.parts.plan_scheduled import slowest_host_bps  # when a run is measured

        times = self.gradients(len(plan.workers))
        return slowest_host_bps(plan) / (times if plan.scenario.job.operation == ALL_REDUCE else times / 2)

    def record_share(self) -> float:
        return 0.5

    def hunt(self) -> Hunt | None:
        from testbed.hunt.kinds import PAIRS_HUNT  # when schedules are drawn

        return PAIRS_HUNT
