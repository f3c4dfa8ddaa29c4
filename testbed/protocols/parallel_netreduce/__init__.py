"""Parallel NetReduce: reduce-scatter inside each machine, NetReduce between them, all-gather inside
(docs/hierarchical.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.checks_machines import check_machines, check_pieces
from testbed.protocols.parts.connected import ConnectedProtocol
from testbed.reading.known import as_far_as_known

if TYPE_CHECKING:
    from testbed.bench.contract import Bench
    from testbed.bench.papers.headline import Headline
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario
    from workloads.config import HostConfig

__all__ = ["PROTOCOL"]


class _ParallelNetReduce(ConnectedProtocol):
    def recoveries(self) -> tuple[str, ...]:
        return ("gbn",)

    def check(self, sections: KnownSections) -> None:
        with as_far_as_known():
            check_machines(sections.problems, sections.topology, sections.job, sections.nics)
        check_pieces(sections.problems, sections.topology, sections.job)

    def needs(self) -> str:
        return "topology.kind: machines"

    def why_no_clamping(self) -> str:
        return "what machines sum for themselves would clamp early"

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.parts.plan_machines import plan_parallel  # when a plan is made

        return plan_parallel(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """The closed form without latencies."""
        from testbed.protocols.parts.plan_machine_rates import machine_rates  # when a run is measured
        from workloads.costs import machine_cost

        return 8 / machine_cost("PN").seconds(machine_rates(plan), 1)

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import pieces_of_machines  # when a run is judged

        return pieces_of_machines(plan, workers, gradients)

    def benches(self) -> tuple[Bench, ...]:
        from testbed.protocols.parallel_netreduce.bench import BENCHES  # when one is run

        return BENCHES

    def headlines(self) -> tuple[Headline, ...]:
        from testbed.protocols.parallel_netreduce.bench_papers import HEADLINES  # when papers are compared

        return HEADLINES


PROTOCOL = _ParallelNetReduce(
    name="parallel_netreduce",
    title="Parallel NetReduce",
    summary="reduce-scatter inside each machine, NetReduce between them, all-gather inside (topology machines, program "
    "netreduce)",
    programs=("netreduce", "fpga", "rtl"),
)
