"""The workers of NetReduce through a plain switch: what each gets is its predecessor's gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.connected import ConnectedProtocol
from testbed.scenario.protocols.protocol import ResultKind

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scenario.model import Scenario
    from workloads.config import HostConfig

__all__ = ["PROTOCOL"]


class _Shift(ConnectedProtocol):
    def result(self) -> ResultKind:
        return ResultKind.ORDERED

    def message_window(self, messages: int, packets: int) -> int:
        return messages * packets

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.parts.plan_ring import plan_ring  # when a plan is made

        return plan_ring(scenario)

    def record_share(self) -> float:
        return 0.06

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import of_predecessor  # when a run is judged

        return of_predecessor(plan, workers, gradients)


PROTOCOL = _Shift(
    name="shift",
    title="Shift",
    summary="NetReduce workers through a plain switch: each host gets its predecessor's gradient (program forward)",
)
