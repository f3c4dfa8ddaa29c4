"""A parallelisation strategy as a job: all-reduces and reshards one after the other, with computing between them
(docs/strategies.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.connected import ConnectedProtocol
from testbed.protocols.staged.keys import StrategyKeys, check_strategy
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.protocol import ResultKind
from workloads.collectives.kinds import sent_share
from workloads.config import HostConfig, WorkerConfig

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.reading.known import Section
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario

__all__ = ["PROTOCOL"]


class _Staged(ConnectedProtocol):
    def result(self) -> ResultKind:
        """A reshard gives each rank what the others have."""
        return ResultKind.ORDERED

    def program(self, keys: Section | None) -> str:
        return protocol_of(keys.all_reduce).program(None) if isinstance(keys, StrategyKeys) else self.programs[0]

    def recoveries(self) -> tuple[str, ...]:
        return ("gbn",)

    def check(self, sections: KnownSections) -> None:
        check_strategy(
            sections.problems, sections.topology, sections.switch, sections.transport, sections.job, sections.nics
        )

    def strategy_job(self, all_reduce: str) -> Mapping[str, object]:
        return {"protocol": self.name, "all_reduce": all_reduce, "hello": False}

    def needs(self) -> str:
        return "job.strategy and job.chain"

    def why_no_clamping(self) -> str:
        return "partial sums of a ring would clamp early"

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.staged.plan import plan_strategy  # when a plan is made

        return plan_strategy(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """`link_bps` is the share of one of the rings; they follow one another, and each has all of the link. A stage
        sends its vector once, (P-1)/P of it or twice that."""
        worker = plan.workers[0]
        assert isinstance(worker, WorkerConfig)
        size = len(plan.workers)
        sent = sum(phase.elements * sent_share(phase.collective.kind, size) for phase in worker.phases)
        return link_bps * len(worker.phases) * worker.workload.elements / sent

    def record_share(self) -> float:
        return 0.25

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import in_stages  # when a run is judged

        return in_stages(plan, workers, gradients)


PROTOCOL = _Staged(
    name="staged",
    title="Strategy",
    summary="a parallelisation strategy: all-reduces and reshards with computing between them (program netreduce, or "
    "forward)",
    programs=("netreduce", "fpga", "rtl", "forward"),
    job_keys=StrategyKeys,
)
