"""RDMA flows as the subject of a run: which pairs of hosts send how much, and how long it takes (docs/flows.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from testbed.checkers.contract import Part
from testbed.protocols.flows.checks import check_flows
from testbed.protocols.flows.keys import FlowsKeys
from testbed.protocols.parts.connected import ConnectedProtocol
from testbed.scenario.protocols.protocol import ResultKind
from workloads.config import HostConfig
from workloads.flows import FlowsConfig

if TYPE_CHECKING:
    from testbed.checkers.checker import Checker
    from testbed.checkers.context import CheckContext
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario
    from workloads.datagrams.problems import ConfigProblem

__all__ = ["PROTOCOL"]


class _Flows(ConnectedProtocol):
    def worlds(self) -> tuple[str, ...]:
        return ("simulated",)

    def result(self) -> ResultKind:
        return ResultKind.UNORDERED

    def check(self, sections: KnownSections) -> None:
        check_flows(sections)

    def needs(self) -> str:
        return "job.load or another job.pattern"

    def worker_problems(self, worker: HostConfig) -> Iterable[ConfigProblem]:
        return ()

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.flows.plan import plan_flows  # when a plan is made

        return plan_flows(scenario)

    def part(self, worker: HostConfig) -> Part:
        return Part(contributes=False)

    def checkers(self) -> tuple[Checker, ...]:
        from testbed.protocols.flows.flow_bytes import FLOW_BYTES  # when a run is judged

        return (FLOW_BYTES,)

    def figures(self, context: CheckContext) -> Mapping[str, object]:
        from testbed.protocols.flows.figures import flow_figures  # when a run is judged

        return {"rdma_flows": flow_figures(context)}


PROTOCOL = _Flows(
    name="flows",
    title="RDMA flows",
    summary="flows of drawn sizes between the hosts, each a WRITE on a connection of its own (program forward)",
    job_keys=FlowsKeys,
    worker=FlowsConfig,
)
