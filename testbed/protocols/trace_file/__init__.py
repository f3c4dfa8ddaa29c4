"""A workload made by others: a Chakra trace or a GOAL text, whose messages and collectives run on our protocols
(docs/traces.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.connected import ConnectedProtocol
from testbed.protocols.trace_file.keys import TraceKeys, check_trace
from testbed.protocols.trace_file.keys_files import is_trace
from testbed.scenario.protocol import ResultKind
from workloads.collectives.kinds import sent_share
from workloads.config import HostConfig
from workloads.traces.program import TracedConfig

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scenario.model import Scenario
    from testbed.scenario.sections import KnownSections

__all__ = ["PROTOCOL"]


class _Trace(ConnectedProtocol):
    def result(self) -> ResultKind:
        """Ranks get what the trace says."""
        return ResultKind.ORDERED

    def check(self, sections: KnownSections) -> None:
        check_trace(
            sections.problems, sections.topology, sections.switch, sections.transport, sections.job, sections.nics
        )

    def needs(self) -> str:
        return "job.workload, the path of a trace"

    def reads_workload(self, text: str) -> bool:
        return is_trace(text)

    def why_no_clamping(self) -> str:
        return "partial sums of a ring would clamp early"

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.trace_file.plan import plan_trace  # when a plan is made

        return plan_trace(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """Of the rank that sends most, as if it did nothing else."""
        from testbed.protocols.parts.plan_scheduled import slowest_host_bps  # when a run is measured

        most = 1.0
        for worker in plan.workers:
            assert isinstance(worker, TracedConfig)
            shares = (
                phase.elements * sent_share(phase.collective.kind, phase.collective.size, phase.collective.rank)
                for phase in worker.phases
            )
            most = max(most, sum(shares))
        return slowest_host_bps(plan) * plan.workers[0].workload.elements / most

    def record_share(self) -> float:
        return 0.5

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.protocols.trace_file.order import in_trace  # when a run is judged

        return in_trace(plan, workers, gradients)


PROTOCOL = _Trace(
    name="trace_file",
    title="Trace",
    summary="a Chakra trace or a GOAL text: its computing, messages and collectives (program netreduce, or forward)",
    programs=("netreduce", "fpga", "rtl", "forward"),
    job_keys=TraceKeys,
)
