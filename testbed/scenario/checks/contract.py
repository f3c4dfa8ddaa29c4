"""What scenario files ask of a protocol, beyond its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from testbed.scenario.protocols.known import lacks_methods, protocol_of
from testbed.scenario.protocols.protocol import KnownProtocol

if TYPE_CHECKING:
    from testbed.reading.problems import Problems
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.keys.fault_loader import Placed
    from testbed.scenario.keys.job import Job
    from testbed.scenario.keys.transport import Transport
    from workloads.collectives.pairs import PairPhase
    from workloads.config import HostConfig
    from workloads.datagrams.problems import ConfigProblem

__all__ = ["ScenarioProtocol", "scenario_protocol"]


class ScenarioProtocol(KnownProtocol):
    """The methods that readers of scenario files and of files of single nodes call."""

    def needs(self) -> str:
        """What a scenario file of another protocol lacks for this one, in words. Empty: nothing."""
        return ""

    def why_no_clamping(self) -> str:
        """Why its sums cannot be int32sat. Empty: they can."""
        return ""

    def transfers(self, operation: str, ranks: int, elements: int, job: Job) -> tuple[PairPhase, ...] | None:
        """What an operation consists of, where it is a schedule of transfers between pairs of ranks. `job`: its root
        and the protocol's own keys. None: the protocol runs the operation in another way, or not at all."""
        return None

    def strategy_job(self, all_reduce: str) -> Mapping[str, object] | None:
        """Keys of `job`, without those of the stages, for a strategy whose vectors are summed by `all_reduce`. None: it
        runs no strategies."""
        return None

    def server_knobs(self) -> tuple[str, ...]:
        """Of `switch.knobs`: those that its parameter server obeys, whatever program the switches run."""
        return ()

    def check(self, sections: KnownSections) -> None:
        """Add a problem for each rule between sections that the file breaks, of those that this protocol alone has. A
        rule that asks for a section which is not known ends; where others follow, call it in
        `testbed.reading.known.as_far_as_known`."""

    def check_fault(
        self, problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None
    ) -> None:
        """Add a problem where the fault cannot apply to what the job sends. `ranks`: of a job; None: not known. As it
        is: the rules for every RoCE connection, or for every datagram."""
        from testbed.scenario.checks.fault_rules import check_stock_fault  # when a scenario has faults

        check_stock_fault(problems, placed, job, transport, ranks, reliable=not self.transport(transport.framing).kinds)

    def worker_problems(self, worker: HostConfig) -> Iterable[ConfigProblem]:
        """What cannot be in the configuration of a worker, an object of class `worker`."""
        from workloads.datagrams.problems import problems_in_workload  # when a worker runs alone

        return problems_in_workload(worker.workload)


def scenario_protocol(protocol: str) -> ScenarioProtocol:
    """By name. Raises as `protocol_of`, and ScenarioError for one that lacks these methods."""
    found = protocol_of(protocol)
    if not isinstance(found, ScenarioProtocol):
        raise lacks_methods(found)
    return found
