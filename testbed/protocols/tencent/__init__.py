"""Tencent's all-reduce: to a master inside each machine, a ring of the masters, from the masters back
(docs/hierarchical.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.checks_machines import check_machines
from testbed.protocols.parts.connected import ConnectedProtocol

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario
    from workloads.config import HostConfig

__all__ = ["PROTOCOL"]


class _Tencent(ConnectedProtocol):
    def recoveries(self) -> tuple[str, ...]:
        return ("gbn",)

    def check(self, sections: KnownSections) -> None:
        check_machines(sections.problems, sections.topology, sections.job, sections.nics)

    def needs(self) -> str:
        return "topology.kind: machines"

    def why_no_clamping(self) -> str:
        return "what machines sum for themselves would clamp early"

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.parts.plan_machines import plan_masters  # when a plan is made

        return plan_masters(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """The closed form without latencies. It reduces inside a machine even where the machine has one worker only."""
        from testbed.protocols.parts.plan_machine_rates import machine_rates  # when a run is measured
        from workloads.costs import machine_cost

        place = machine_rates(plan)
        return 8 / machine_cost("FR" if place.per_machine == 1 else "TA").seconds(place, 1)

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import masters_of_machines  # when a run is judged

        return masters_of_machines(plan, workers, gradients)


PROTOCOL = _Tencent(
    name="tencent",
    title="Tencent",
    summary="reduce to a master inside each machine, ring of the masters, broadcast inside (topology machines, program "
    "forward)",
)
