"""ATP: each host streams its gradient towards a parameter server, and switches add what they can (docs/atp.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from testbed.protocols.parts.checks_served import check_served_in_racks
from testbed.protocols.parts.quantised import AtpWorkers
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.atp import AtpConfig

if TYPE_CHECKING:
    from testbed.explain.contract import NodeWait
    from testbed.hunt.contract import Hunt
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario
    from testbed.states.contract import Explored

__all__ = ["PROTOCOL"]


class _Atp(AtpWorkers):
    def optional_keys(self) -> frozenset[KeyGroup]:
        return super().optional_keys() | {KeyGroup.FIXED_SCALE}

    def check(self, sections: KnownSections) -> None:
        check_served_in_racks(sections.problems, sections.topology, sections.transport, sections.job, sections.entries)

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.parts.plan_atp import plan_atp  # when a plan is made

        return plan_atp(scenario)

    def server_completes(self) -> bool:
        return True

    def hunt(self) -> Hunt:
        from testbed.protocols.atp.hunt import HUNT  # when schedules are drawn

        return HUNT

    def states(self) -> Explored:
        from testbed.protocols.atp.states import EXPLORED  # when states are visited

        return EXPLORED

    def waits(self, machines: Mapping[str, object], plan: Plan) -> Iterable[NodeWait]:
        from testbed.protocols.parts.waits_server import waits_with_server  # when a stall is explained

        return waits_with_server(machines, plan)


PROTOCOL = _Atp(
    name="atp",
    title="ATP",
    summary="each host streams its gradient towards a parameter server, and a switch adds what it can (program atp, or "
            "forward)",
    programs=("atp", "forward"),
    worker=AtpConfig,
)  # fmt: skip
