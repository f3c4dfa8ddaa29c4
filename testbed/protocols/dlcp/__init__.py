"""DLCP / MLT: all-reduce in which a bounded share of each gradient may be missing (docs/dlcp.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from testbed.checkers.contract import Part
from testbed.hunt.contract import Hunt, Protocol
from testbed.protocols.dlcp.checks import check_dlcp, check_dlcp_fault
from testbed.protocols.dlcp.keys import DlcpKeys
from testbed.scenario.protocols.protocol import KeyGroup, ResultKind
from workloads.config import HostConfig
from workloads.dlcp import DlcpConfig
from workloads.dlcp.checks import problems_in_host
from workloads.dlcp.chunks import chunk_of, steps_of

if TYPE_CHECKING:
    from testbed.bench.papers.headline import Headline
    from testbed.checkers.checker import Checker
    from testbed.checkers.pieces import PieceJudge
    from testbed.plan.model import Plan
    from testbed.reading.known import Section
    from testbed.reading.problems import Problems
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.keys.fault_loader import Placed
    from testbed.scenario.model import Job, Scenario, Transport
    from workloads.datagrams.problems import ConfigProblem

__all__ = ["PROTOCOL"]


class _Dlcp(Protocol):
    def program(self, keys: Section | None) -> str:
        return "dlcp" if isinstance(keys, DlcpKeys) and keys.adds else "forward"

    def result(self) -> ResultKind:
        return ResultKind.NEAR_SUM

    def optional_keys(self) -> frozenset[KeyGroup]:
        return frozenset({KeyGroup.JOBS})

    def largest_mtu(self) -> int:
        return 1024

    def check(self, sections: KnownSections) -> None:
        check_dlcp(
            sections.problems, sections.topology, sections.switch, sections.transport, sections.job, sections.entries
        )

    def check_fault(
        self, problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None
    ) -> None:
        check_dlcp_fault(problems, placed, job, transport, ranks)

    def worker_problems(self, worker: HostConfig) -> Iterable[ConfigProblem]:
        assert isinstance(worker, DlcpConfig)
        return problems_in_host(worker)

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.dlcp.plan import plan_dlcp  # when a plan is made

        return plan_dlcp(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """The sum follows when all gradients are there, so that a link carries one of them at a time; and of both a
        share need not come. In a ring a rank sends 2 (N - 1) / N gradients. Where switches add, what comes to the
        server may be one sum of all its workers' gradients."""
        keys = plan.scenario.job.own or DlcpKeys()
        size = max(len(group) for group in plan.groups.values())
        each = steps_of(size) / size if keys.rings else 1 + 1 / (size - 1) if keys.adds else 2
        return link_bps / (each * (1 - keys.loss_bound))

    def answers_at_once(self) -> bool:
        return True

    def one_size(self) -> bool:
        return True

    def blocks(self, worker: HostConfig, elements: int) -> int:
        """In a ring every step has as many as the largest chunk."""
        assert isinstance(worker, DlcpConfig)
        size = worker.collective.size
        if worker.ring:
            return steps_of(size) * -(-chunk_of(0, size, elements)[1] // worker.elements)
        return -(-elements // worker.elements)

    def part(self, worker: HostConfig) -> Part:
        assert isinstance(worker, DlcpConfig)
        return Part(sums=worker.is_server or worker.ring)

    def checkers(self) -> tuple[Checker, ...]:
        from testbed.protocols.dlcp.bounded_loss import BOUNDED_LOSS  # when a run is judged

        return (BOUNDED_LOSS,)

    def piece_judge(self) -> Callable[[Plan], PieceJudge]:
        from testbed.protocols.dlcp.bounded_training import BoundedPieces  # in a training

        return BoundedPieces

    def hunt(self) -> Hunt:
        from testbed.protocols.dlcp.hunt import HUNT  # when schedules are drawn

        return HUNT

    def headlines(self) -> tuple[Headline, ...]:
        from testbed.protocols.dlcp.bench_papers import HEADLINES  # when papers are compared

        return HEADLINES


PROTOCOL = _Dlcp(
    name="dlcp",
    title="DLCP",
    summary="sums of gradients that may each lack a bounded share: at the last host, with switches that "
    "add (program dlcp), or in a ring",
    programs=("forward", "dlcp"),
    job_keys=DlcpKeys,
    worker=DlcpConfig,
)
