"""Repair of a lost block of an erasure code, combined by switches on its way (docs/repair.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from testbed.checkers.contract import Part
from testbed.hunt.contract import Hunt, Protocol
from testbed.protocols.repair.checks import check_repair, check_repair_fault
from testbed.protocols.repair.keys import RepairKeys
from testbed.scenario.protocols.protocol import KeyGroup, ResultKind
from workloads.config import HostConfig
from workloads.repair import RepairConfig
from workloads.repair.checks import problems_in_host

if TYPE_CHECKING:
    from testbed.bench.papers.headline import Headline
    from testbed.checkers.checker import Checker
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.reading.problems import Problems
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.keys.fault_loader import Placed
    from testbed.scenario.model import Job, Scenario, Transport
    from workloads.datagrams.problems import ConfigProblem

__all__ = ["PROTOCOL"]


class _Repair(Protocol):
    def result(self) -> ResultKind:
        return ResultKind.ORDERED

    def optional_keys(self) -> frozenset[KeyGroup]:
        return frozenset({KeyGroup.JOBS})

    def largest_mtu(self) -> int:
        return 1024

    def check(self, sections: KnownSections) -> None:
        check_repair(
            sections.problems, sections.topology, sections.switch, sections.transport, sections.job, sections.entries
        )

    def check_fault(
        self, problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None
    ) -> None:
        check_repair_fault(problems, placed, job, transport, ranks)

    def worker_problems(self, worker: HostConfig) -> Iterable[ConfigProblem]:
        assert isinstance(worker, RepairConfig)
        return problems_in_host(worker)

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.repair.plan import plan_repair  # when a plan is made

        return plan_repair(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """A node stores alpha symbols for each symbol that a donor sends. `link_bps`: one donor's part of the
        newcomer's link, which the donors share where no switch combines."""
        first = plan.workers[0]
        return link_bps * (first.share.code.alpha if isinstance(first, RepairConfig) else 1)

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        """Each node of the code holds what it stored of the file: the donors as before, the newcomer again. No donor's
        symbol is looked at: the file is encoded."""
        from workloads.repair.stored import file_of, words_of  # when a run is judged

        first = workers[0]
        assert isinstance(first, RepairConfig)
        share = first.share
        nodes = share.code.encode(file_of(share.code, gradients))
        return [words_of(nodes[node], gradients[0].dtype) for node in (*share.donors, share.lost)]

    def blocks(self, worker: HostConfig, elements: int) -> int:
        assert isinstance(worker, RepairConfig)
        words = elements // worker.share.code.alpha
        return -(-words // worker.elements)

    def part(self, worker: HostConfig) -> Part:
        assert isinstance(worker, RepairConfig)
        return Part(contributes=not worker.is_newcomer, sums=worker.is_newcomer and not worker.combined)

    def checkers(self) -> tuple[Checker, ...]:
        from testbed.protocols.repair.link_bytes import LINK_BYTES  # when a run is judged

        return (LINK_BYTES,)

    def hunt(self) -> Hunt:
        from testbed.protocols.repair.hunt import HUNT  # when schedules are drawn

        return HUNT

    def headlines(self) -> tuple[Headline, ...]:
        from testbed.protocols.repair.bench_papers import HEADLINES  # when papers are compared

        return HEADLINES


PROTOCOL = _Repair(
    name="repair",
    title="Repair",
    summary="donors send what a newcomer needs to hold a lost block of an erasure code, and switches combine it "
    "(program repair, or forward)",
    programs=("repair", "forward"),
    job_keys=RepairKeys,
    worker=RepairConfig,
)
