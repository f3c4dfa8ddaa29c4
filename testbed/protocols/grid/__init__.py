"""GRID: each host streams its gradient to the switches that a plan of gradient routes chose for it
(docs/routing.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from testbed.protocols.grid.checks import check_grid
from testbed.protocols.parts.checks_served import check_served
from testbed.protocols.parts.quantised import QuantisedSums
from testbed.reading.known import as_far_as_known
from workloads.config import HostConfig
from workloads.grid import GridConfig

if TYPE_CHECKING:
    from testbed.bench.contract import Bench
    from testbed.bench.papers.headline import Headline
    from testbed.hunt.contract import Hunt
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario
    from workloads.datagrams.problems import ConfigProblem

__all__ = ["PROTOCOL"]


class _Grid(QuantisedSums):
    def servers(self) -> int:
        return 1

    def largest_mtu(self) -> int:
        return 8192

    def check(self, sections: KnownSections) -> None:
        with as_far_as_known():
            check_served(sections.problems, sections.topology, sections.transport, sections.job, sections.entries)
        check_grid(
            sections.problems, sections.topology, sections.switch, sections.routing, sections.job, sections.entries
        )

    def needs(self) -> str:
        return "a section routing"

    def worker_problems(self, worker: HostConfig) -> Iterable[ConfigProblem]:
        from workloads.grid.checks import problems_in_grid_worker  # when a worker runs alone

        assert isinstance(worker, GridConfig)
        return problems_in_grid_worker(worker)

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.grid.plan import plan_grid  # when a plan is made

        return plan_grid(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """What the first plan of routes gives the worst-served worker."""
        framing = plan.workers[0].framing
        return plan.routing[0].plan.min_rate_bps * framing.payload_bytes / framing.frame_bytes

    def server_completes(self) -> bool:
        return True

    def hunt(self) -> Hunt:
        from testbed.protocols.grid.hunt_kind import HUNT  # when schedules are drawn

        return HUNT

    def benches(self) -> tuple[Bench, ...]:
        from testbed.protocols.grid.bench_command import BENCHES  # when one is run

        return BENCHES

    def headlines(self) -> tuple[Headline, ...]:
        from testbed.protocols.grid.bench_papers import HEADLINES  # when papers are compared

        return HEADLINES


PROTOCOL = _Grid(
    name="grid",
    title="GRID",
    summary="each host streams its gradient to the switches that a plan of gradient routes chose for it (program grid)",
    programs=("grid",),
    worker=GridConfig,
)
