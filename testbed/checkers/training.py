"""Judges of a training whose gradients came from processes outside the workers."""

from __future__ import annotations

from collections import Counter

from testbed.checkers.context import CheckContext, is_training
from testbed.history.training_events import (
    AllReduceCarried,
    AllReducePosted,
    PieceExpected,
    RankLeft,
    RankStepped,
    StoreCollectives,
    TrainingFailed,
)
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import amount
from workloads.events import CollectiveCompleted

__all__ = ["skip_training", "sums_nothing", "training", "training_bit_exact"]

_SHOWN = 8


def skip_training(context: CheckContext) -> str | None:
    return None if is_training(context) else ""


def sums_nothing(context: CheckContext) -> bool:
    """Whether it is a training in which only other collectives crossed the network."""
    posted = context.events(AllReducePosted)
    return bool(posted) and all(record.event.what for record in posted)


def training(context: CheckContext) -> CheckResult:
    """All ranks posted the same collectives and ended in order, and at least one was summed."""
    name = "training"
    failed = [record.event.reason for record in context.events(TrainingFailed)]
    errors = [
        f"rank {record.event.rank} ended: {record.event.error}"
        for record in context.events(RankLeft)
        if record.event.error
    ]
    if failed or errors:
        found = (*failed, *(error for error in errors if error not in failed))
        return CheckResult(name, Verdict.FAIL, found[0], found[:_SHOWN])
    carried, moved = _carried(context)
    counts = ", ".join(f"{count:,} {what}" for what, count in _over_store(context).items())
    extra = f"; not aggregated in the network: {counts}" if counts else ""
    others = ", ".join(f"{count:,} {what}" for what, count in sorted(moved.items()))
    if others:
        extra = f"; also over the network: {others}{extra}"
    if not carried and not moved:
        what = "no rank posted a float32 all-reduce of sums: the network had nothing to do"
        return CheckResult(name, Verdict.UNKNOWN, what + extra)
    left = {record.event.rank for record in context.events(RankLeft)}
    missing = [str(rank) for rank in range(len(context.workers)) if rank not in left]
    if missing:
        return CheckResult(name, Verdict.UNKNOWN, f"the end of rank {', '.join(missing)} is not reported")
    steps = max((record.event.step for record in context.events(RankStepped)), default=0)
    stepped = f" in {amount(steps, 'step')}" if steps else ""
    detail = f"{amount(len(left), 'rank')} posted the same {amount(carried, 'all-reduce')}{stepped}, and ended in order"
    return CheckResult(name, Verdict.PASS, detail + extra)


def _carried(context: CheckContext) -> tuple[int, Counter[str]]:
    """All-reduces that all ranks have, and how many other operations, by what they were."""
    texts = {record.event.number: record.event.what for record in context.events(AllReducePosted)}
    found = Counter(texts.get(record.event.number, "") for record in context.events(AllReduceCarried))
    return found.pop("", 0), found


def _over_store(context: CheckContext) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in context.events(StoreCollectives):
        for what, count in record.event.counts.items():
            counts[what] = counts.get(what, 0) + count
    return counts


def training_bit_exact(context: CheckContext) -> CheckResult:
    """Every worker held, after every piece of every all-reduce, what the reference makes of the ranks' gradients. The
    check compares the digests of the workers with those that were taken while the gradients were there."""
    name = "bit_exact"
    expected = {record.event.iteration: record.event.sha256 for record in context.events(PieceExpected)}
    results: dict[tuple[int, str], set[str]] = {}
    for record in context.events(CollectiveCompleted):
        results.setdefault((record.event.iteration, record.node), set()).add(record.event.sha256)
    if not results:
        return CheckResult(name, Verdict.UNKNOWN, "no worker completed an all-reduce: there is nothing to compare")
    place = _Places(context)
    wrong, missing, compared = [], [], 0
    for iteration, digests in expected.items():
        for worker, right in zip(context.workers, digests, strict=True):
            found = results.pop((iteration, worker), None)
            if found is None:
                missing.append(f"{worker} reported no result of {place.name(iteration)}")
                continue
            compared += 1
            if found != {right}:
                other = sorted(found - {right})[0]
                wrong.append(f"{worker}, {place.name(iteration)}: sha256 {other[:16]}... instead of {right[:16]}...")
    wrong += [
        f"{worker} reported a result of iteration {iteration}, which no worker posted" for iteration, worker in results
    ]
    if wrong:
        detail = f"{len(wrong)} of {compared} results differ from the reference; first: {wrong[0]}"
        return CheckResult(name, Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    if missing:
        detail = f"the {compared} reported results are right, {len(missing)} are missing; first: {missing[0]}"
        return CheckResult(name, Verdict.UNKNOWN, detail, tuple(missing[:_SHOWN]))
    others = sum(bool(record.event.what) for record in context.events(AllReducePosted))
    sums = amount(len(context.events(AllReducePosted)) - others, "all-reduce")
    if others:
        moved = amount(others, "other collective")
        sums = f"{sums} and {moved}"
    detail = (
        f"all {len(context.workers)} workers hold the reference's bits after each of {sums} "
        f"({amount(len(expected), 'piece')})"
    )
    return CheckResult(name, Verdict.PASS, detail)


class _Places:
    """Which all-reduce an iteration of the job belongs to."""

    def __init__(self, context: CheckContext) -> None:
        self._posted = [
            (record.event.first_iteration, record.event.pieces, record.event.number)
            for record in context.events(AllReducePosted)
        ]

    def name(self, iteration: int) -> str:
        for first, pieces, number in self._posted:
            if first <= iteration < first + pieces:
                return f"collective {number}, piece {iteration - first + 1} of {pieces}"
        return f"iteration {iteration}"
