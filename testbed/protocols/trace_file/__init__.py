"""A workload made by others: a Chakra trace or a GOAL text, whose messages and collectives run on our protocols
(docs/traces.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.connected import ConnectedProtocol
from testbed.protocols.trace_file.keys import TraceFileKeys, TraceKeys, check_next_to_sums, check_trace
from testbed.protocols.trace_file.keys_files import is_trace
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.protocol import ResultKind
from workloads.collectives.kinds import sent_share
from workloads.config import HostConfig
from workloads.traces.program import trace_in

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.reading.known import Section
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario

__all__ = ["PROTOCOL"]


class _Trace(ConnectedProtocol):
    def result(self) -> ResultKind:
        """Ranks get what the trace says."""
        return ResultKind.ORDERED

    def check(self, sections: KnownSections) -> None:
        if sections.job.file is not None:
            check_next_to_sums(sections.problems, sections.transport, sections.job, sections.entries)
        check_trace(
            sections.problems, sections.topology, sections.switch, sections.transport, sections.job, sections.nics
        )

    def program(self, keys: Section | None) -> str:
        return protocol_of(keys.all_reduce).program(None) if isinstance(keys, TraceKeys) else self.programs[0]

    def needs(self) -> str:
        return "job.workload, the path of a trace"

    def reads_workload(self, text: str) -> bool:
        return is_trace(text)

    def why_no_clamping(self) -> str:
        return "partial sums of a ring would clamp early"

    def plan(self, scenario: Scenario) -> Plan:
        if scenario.job.file is not None:
            from testbed.protocols.trace_file.plan_datagrams import plan_in_datagrams

            return plan_in_datagrams(scenario)
        from testbed.protocols.trace_file.plan import plan_trace  # when a plan is made

        return plan_trace(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """Of the rank that sends most, as if it did nothing else."""
        from testbed.protocols.parts.plan_scheduled import slowest_host_bps  # when a run is measured

        most = 1.0
        for trace in filter(None, map(trace_in, plan.workers)):
            shares = (
                phase.elements * sent_share(phase.collective.kind, phase.collective.size, phase.collective.rank)
                for phase in trace.phases
            )
            summed = (each.gives for each in trace.communications if each.turn >= 0)
            most = max(most, sum(shares) + sum(summed))
        return slowest_host_bps(plan) * plan.workers[0].workload.elements / most

    def sums(self, worker: HostConfig) -> tuple[int, ...] | None:
        from testbed.protocols.trace_file.plan_datagrams import sums_of  # when a run is judged

        trace = trace_in(worker)
        return None if trace is None or trace is worker else sums_of(trace)

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
    file_keys=TraceFileKeys,
)
