"""The judge of DLCP in a training: each piece is judged as soon as all that is told of it has come, with the ranks'
gradients at hand; and the checker reads what he found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from testbed.checkers.context import CheckContext
from testbed.checkers.folds import Array
from testbed.history import Record
from testbed.history.training_events import AllReducePosted, PieceBounded
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan
from testbed.protocols.parts.bounded_jobs import job_judge
from testbed.protocols.parts.bounded_told import Findings, NotTold, Told, what_came
from testbed.scenario.known import protocol_of
from testbed.terminal.words import violations
from workloads.datagrams.blocks import BlockSummed, PartialSent
from workloads.dlcp import DlcpConfig
from workloads.dlcp.events import FlowClosed, SumParts
from workloads.events import CollectiveCompleted
from workloads.machine import Event

__all__ = ["BoundedPieces", "bounded_training"]

_NAME = "bounded_loss"
_SHOWN = 8


@dataclass(slots=True)
class _Given:
    """A GradientSource of one piece."""

    values: Array

    def gradient(self, iteration: int) -> Array:
        return self.values

    def apply(self, iteration: int, total: Array) -> None:
        pass


class BoundedPieces:
    """A PieceJudge. `plan`: of one job, with gradients as long as a piece at most."""

    def __init__(self, plan: Plan) -> None:
        self._hosts = [worker for worker in plan.workers if isinstance(worker, DlcpConfig)]
        self._elements = self._hosts[0].workload.elements
        blocks = protocol_of(plan.scenario.job.collective).blocks
        assert blocks is not None
        self._blocks = blocks(self._hosts[0], self._elements)
        self._told: defaultdict[int, Told] = defaultdict(Told)
        """by iteration"""
        self._gradients: dict[int, list[Array]] = {}
        self._next = 0
        """the first iteration that is not judged"""
        self._late: list[str] = []

    def posted(self, iteration: int, gradients: Sequence[Array]) -> Iterator[PieceBounded]:
        filled = np.zeros((len(gradients), self._elements), np.float32)
        for row, gradient in zip(filled, gradients, strict=True):
            row[: len(gradient)] = gradient
        self._gradients[iteration] = list(filled)
        return self._judge()

    def hear(self, record: Record) -> Iterator[PieceBounded]:
        event = record.event
        iteration = self._iteration_of(event)
        if iteration is None:
            return iter(())
        if iteration >= self._next:
            self._told[iteration].add(record.node, event)
        elif not isinstance(event, PartialSent):  # which the server had no use for
            self._late.append(f"{record.node} told {type(event).__name__} of iteration {iteration}, which was over")
        return self._judge() if isinstance(event, CollectiveCompleted | PartialSent) else iter(())

    def _iteration_of(self, event: Event) -> int | None:
        match event:
            case FlowClosed() | CollectiveCompleted():
                return event.iteration
            case BlockSummed() | SumParts() | PartialSent():
                return event.block // self._blocks
        return None

    def _judge(self) -> Iterator[PieceBounded]:
        while self._next in self._gradients and self._is_told(self._told[self._next]):
            gradients, told = self._gradients.pop(self._next), self._told.pop(self._next)
            findings = Findings(wrong=[*told.wrong, *self._late])
            self._late = []
            judge = job_judge(self._hosts, told, findings)
            try:
                findings.wrong += judge.iteration_problems(self._next, [_Given(values) for values in gradients])
            except NotTold as error:
                findings.wrong.append(str(error))
            out, wrong = findings.left_out, tuple(findings.wrong[:_SHOWN])
            yield PieceBounded(
                self._next, findings.compared, out["up"], out["up of"], out["down"], out["down of"], wrong
            )
            self._next += 1

    def _is_told(self, told: Told) -> bool:
        """By all hosts, and by the switches whose sums the server took: those tell on ways of their own."""
        if len(told.digests) < len(self._hosts):
            return False
        sums = {(block, part) for (_, block), parts in told.parts.items() for part in parts if part.bit_count() > 1}
        return sums <= {(block, bitmap) for _, block, bitmap in told.sent}


def bounded_training(context: CheckContext) -> CheckResult:
    """Of a training: what its judge found, piece by piece."""
    judged = [record.event for record in context.events(PieceBounded)]
    wrong = [found for piece in judged for found in piece.wrong]
    if wrong:
        return CheckResult(_NAME, Verdict.FAIL, violations(wrong), tuple(wrong[:_SHOWN]))
    posted = sum(record.event.pieces for record in context.events(AllReducePosted))
    results, wanted = sum(piece.results for piece in judged), posted * len(context.workers)
    if results < wanted or not wanted:
        detail = f"{results} of {wanted} results were told with all that they rest on; these are right"
        return CheckResult(_NAME, Verdict.UNKNOWN, detail)
    out: Counter[str] = Counter()
    for piece in judged:
        out.update({"up": piece.left_out, "up of": piece.packets})
        out.update({"down": piece.sums_left_out, "down of": piece.sum_packets})
    return CheckResult(_NAME, Verdict.PASS, what_came(results, out))
