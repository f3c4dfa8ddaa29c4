"""The judge of DLCP in a training, and the checker that reads its findings.

It judges each piece, with the ranks' gradients at hand, as soon as all reports about the piece have come.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from testbed.checkers.blocks import blocks_of
from testbed.checkers.context import CheckContext
from testbed.checkers.contract import judged_protocol
from testbed.checkers.folds import Array
from testbed.history import Record
from testbed.history.training_events import AllReducePosted, PieceBounded
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan
from testbed.protocols.dlcp.bounded_jobs import job_judge
from testbed.protocols.dlcp.bounded_told import Findings, NotTold, ToldLoss, killed_in, what_came
from testbed.terminal.words import amount, violations
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


@dataclass(slots=True)
class _Piece:
    gradients: list[Array]
    """by rank, filled up"""
    filled: int


class BoundedPieces:
    """A PieceJudge. `plan`: of one job, with gradients as long as a piece at most."""

    def __init__(self, plan: Plan) -> None:
        self._hosts = [worker for worker in plan.workers if isinstance(worker, DlcpConfig)]
        self._elements = self._hosts[0].workload.elements
        self._blocks = blocks_of(judged_protocol(plan.scenario.job.protocol), self._hosts[0], self._elements)
        killed = killed_in(plan)
        self._told: defaultdict[int, ToldLoss] = defaultdict(lambda: ToldLoss(killed=killed))
        """by iteration"""
        self._pieces: dict[int, _Piece] = {}
        self._next = 0
        """the first iteration that is not judged"""

    def posted(self, iteration: int, gradients: Sequence[Array]) -> Iterator[PieceBounded]:
        filled = np.zeros((len(gradients), self._elements), np.float32)
        for row, gradient in zip(filled, gradients, strict=True):
            row[: len(gradient)] = gradient
        self._pieces[iteration] = _Piece(list(filled), self._elements - len(gradients[0]))
        return self._judge_told()

    def hear(self, record: Record) -> Iterator[PieceBounded]:
        event = record.event
        iteration = self._iteration_of(event)
        if iteration is None:
            return iter(())
        if iteration < self._next:
            return self._late(record, iteration)
        self._told[iteration].add(record.node, event)
        return self._judge_told() if isinstance(event, CollectiveCompleted | PartialSent) else iter(())

    def conclude(self) -> Iterator[PieceBounded]:
        """Judge the pieces that are left. What no node has reported about them is missing."""
        while self._next in self._pieces:
            yield self._judge_next()

    def _iteration_of(self, event: Event) -> int | None:
        match event:
            case FlowClosed() | CollectiveCompleted():
                return event.iteration
            case BlockSummed() | SumParts() | PartialSent():
                return event.block // self._blocks
        return None

    def _late(self, record: Record, iteration: int) -> Iterator[PieceBounded]:
        """Hosts end their flows before they tell a result. Of a switch it may be a sum that the server had no use
        for."""
        told = ToldLoss()
        told.add(record.node, record.event)
        wrong = tuple(told.wrong)
        if not isinstance(record.event, PartialSent):
            wrong += (f"{record.node} reported {type(record.event).__name__} of iteration {iteration}, which was over",)
        if wrong:
            yield PieceBounded(iteration, 0, 0, 0, 0, 0, 0, wrong=wrong)

    def _judge_told(self) -> Iterator[PieceBounded]:
        while self._next in self._pieces and self._is_told(self._told[self._next]):
            yield self._judge_next()

    def _is_told(self, told: ToldLoss) -> bool:
        """By all hosts, and by the switches whose sums the server took: those tell on ways of their own."""
        if len(told.digests) < len(self._hosts):
            return False
        sums = {(block, part) for (_, block), parts in told.parts.items() for part in parts if part.bit_count() > 1}
        return sums <= {(block, bitmap) for _, block, bitmap in told.sent}

    def _judge_next(self) -> PieceBounded:
        iteration = self._next
        piece, told = self._pieces.pop(iteration), self._told.pop(iteration, ToldLoss())
        findings = Findings()
        judge = job_judge(self._hosts, told, findings)
        wrong = list(told.wrong)
        try:
            for problem in judge.iteration_problems(iteration, [_Given(values) for values in piece.gradients]):
                wrong.append(problem)
        except NotTold as error:
            if judge.must_have_told(iteration):
                wrong.append(str(error))
        self._next += 1
        out = findings.left_out
        return PieceBounded(
            iteration,
            findings.compared,
            len(set(told.digests.values())),
            out["up"],
            out["up of"],
            out["down"],
            out["down of"],
            piece.filled,
            tuple(wrong[:_SHOWN]),
        )


def bounded_training(context: CheckContext) -> CheckResult:
    """Of a training: what its judge found, piece by piece."""
    judged = [record.event for record in context.events(PieceBounded)]
    posted = sum(record.event.pieces for record in context.events(AllReducePosted))
    wrong = [found for piece in judged for found in piece.wrong]
    wrong += [
        f"{record.node} reported {type(record.event).__name__} of iteration {record.event.iteration}, "
        "which no worker posted"
        for record in context.events(FlowClosed, CollectiveCompleted)
        if record.event.iteration >= posted
    ]
    if wrong:
        return CheckResult(_NAME, Verdict.FAIL, violations(wrong), tuple(wrong[:_SHOWN]))
    results, wanted = sum(piece.results for piece in judged), posted * len(context.workers)
    if results < wanted or not wanted:
        detail = f"{results} of {wanted} results were reported with all that they depend on; these are right"
        return CheckResult(_NAME, Verdict.UNKNOWN, detail)
    out: Counter[str] = Counter()
    for piece in judged:
        out.update({"up": piece.left_out, "up of": piece.packets})
        out.update({"down": piece.sums_left_out, "down of": piece.sum_packets})
    return CheckResult(_NAME, Verdict.PASS, what_came(results, out) + _what_it_means(judged))


def _what_it_means(judged: Sequence[PieceBounded]) -> str:
    """For who trains: whether models drift apart, and where the bound is one of more than gradients."""
    apart, filled = sum(piece.different > 1 for piece in judged), [piece.filled for piece in judged if piece.filled]
    told = (
        f"; ranks got different sums of {apart} of {amount(len(judged), 'piece')}, so that their models drift apart"
        if apart
        else f"; all ranks got the same sum of each of {amount(len(judged), 'piece')}"
    )
    if filled:
        told += (
            f"; {amount(len(filled), 'piece')} ended in zeros, {sum(filled):,} in all, which made them as long as the "
            "others: the bound counts those packets, too"
        )
    return told
