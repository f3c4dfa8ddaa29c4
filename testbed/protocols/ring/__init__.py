"""Ring all-reduce between the hosts: reduce-scatter, then all-gather. No switch sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.hunt.contract import Hunt
from testbed.protocols.parts.connected import ConnectedProtocol
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.collectives.operations import ALL_REDUCE

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scale.model import RackModel
    from testbed.scenario.model import Scenario
    from workloads.config import HostConfig

__all__ = ["PROTOCOL"]


class _Ring(ConnectedProtocol):
    def optional_keys(self) -> frozenset[KeyGroup]:
        return frozenset({KeyGroup.IN_PLACE})

    def as_stage(self) -> str:
        return self.summary

    def as_fallback(self) -> str:
        return "each worker then starts the job again as ring all-reduce between the hosts (protocol netreduce only)"

    def operations(self) -> tuple[str, ...]:
        return ALL_REDUCE, "reduce_scatter", "all_gather"

    def why_no_clamping(self) -> str:
        return "a ring adds step by step and would clamp early"

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.parts.plan_ring import plan_ring  # when a plan is made

        return plan_ring(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """Each gradient crosses a link 2 (P - 1) / P times (protocol text, section 1); in a half alone, half as
        often."""
        size, halves = len(plan.workers), 2 if plan.scenario.job.operation == ALL_REDUCE else 1
        return link_bps * (size / (halves * (size - 1)))

    def record_share(self) -> float:
        return 0.25

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import in_ring_order  # when a run is judged

        return in_ring_order(plan, workers, gradients)

    def hunt(self) -> Hunt:
        from testbed.hunt.kinds import PAIRS_HUNT  # when schedules are drawn

        return PAIRS_HUNT

    def rack_model(self) -> RackModel:
        from testbed.protocols.ring.scale import MODEL  # when a large system is estimated

        return MODEL


PROTOCOL = _Ring(
    name="ring",
    title="Ring",
    summary="ring all-reduce: reduce-scatter, then all-gather (program forward)",
)
