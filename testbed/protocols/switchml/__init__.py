"""SwitchML: each host streams its gradient through slots of the switch (docs/switchml.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from testbed.protocols.parts.quantised import QuantisedSums
from testbed.protocols.parts.whole_vectors import WholeVectors
from testbed.protocols.switchml.checks import check_switchml, check_switchml_fault
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.config import HostConfig
from workloads.switchml import SwitchMlConfig
from workloads.switchml.checks import problems_in_worker

if TYPE_CHECKING:
    from testbed.explain.contract import NodeWait
    from testbed.hunt.contract import Hunt
    from testbed.plan.model import Plan
    from testbed.reading.problems import Problems
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.keys.fault_loader import Placed
    from testbed.scenario.model import Job, Scenario, Transport
    from testbed.states.contract import Explored
    from workloads.datagrams.problems import ConfigProblem

__all__ = ["PROTOCOL"]


class _SwitchMl(QuantisedSums, WholeVectors):
    def optional_keys(self) -> frozenset[KeyGroup]:
        return super().optional_keys() | {KeyGroup.IN_PLACE}

    def framings(self) -> tuple[str, ...]:
        return ("udp", "uc")

    def largest_mtu(self) -> int:
        return 1024

    def check(self, sections: KnownSections) -> None:
        check_switchml(
            sections.problems, sections.topology, sections.switch, sections.transport, sections.job, sections.entries
        )

    def check_fault(
        self, problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None
    ) -> None:
        check_switchml_fault(problems, placed, job, transport, ranks)

    def worker_problems(self, worker: HostConfig) -> Iterable[ConfigProblem]:
        assert isinstance(worker, SwitchMlConfig)
        return problems_in_worker(worker)

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.switchml.plan import plan_switchml  # when a plan is made

        return plan_switchml(scenario)

    def hunt(self) -> Hunt:
        from testbed.protocols.switchml.hunt import HUNT  # when schedules are drawn

        return HUNT

    def states(self) -> Explored:
        from testbed.protocols.switchml.states import EXPLORED  # when states are visited

        return EXPLORED

    def waits(self, machines: Mapping[str, object], plan: Plan) -> Iterable[NodeWait]:
        from testbed.protocols.switchml.waits import waits_in  # when a stall is explained

        return waits_in(machines, plan)


PROTOCOL = _SwitchMl(
    name="switchml",
    title="SwitchML",
    summary="each host streams its gradient through slots of the switch, over UDP or RoCE UC (program switchml)",
    programs=("switchml",),
    worker=SwitchMlConfig,
)
