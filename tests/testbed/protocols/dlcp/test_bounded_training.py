"""What the judge of DLCP finds in trainings, whose pieces are given to him as they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from testbed.checkers import CheckContext
from testbed.faults.model import Kill, Window
from testbed.history import Record
from testbed.history.records import make_record
from testbed.history.training_events import AllReducePosted, PieceBounded
from testbed.history.verdict import CheckResult, Verdict
from testbed.protocols.dlcp.bounded_training import BoundedPieces, bounded_training
from tests.support.dlcp_runs import RING, SERVER, SWITCHES, context_of, edited, swapped
from tests.support.references import contributions
from workloads.datagrams.blocks import BlockSummed, PartialSent
from workloads.dlcp.events import FlowClosed, SumParts
from workloads.events import CollectiveCompleted

ITERATIONS = 2
WAYS = [(SERVER, 3), (SWITCHES, 4), (RING, 4)]


def pieces_of(context: CheckContext) -> list[PieceBounded]:
    """As a training finds them: all is posted, then told."""
    judge, found = BoundedPieces(context.plan), list[PieceBounded]()
    for iteration in range(ITERATIONS):
        rows = [row.copy() for row in contributions(context.plan, iteration)]
        found += judge.posted(iteration, rows)
        for row in rows:
            row[:] = np.nan  # the rank's memory has other uses
    for record in context.history:
        found += judge.hear(record)
    return [*found, *judge.conclude()]


def checked(context: CheckContext, pieces: list[PieceBounded] | None = None, posted: int = ITERATIONS) -> CheckResult:
    told = [AllReducePosted(0, 2500, 0, posted), *(pieces_of(context) if pieces is None else pieces)]
    return bounded_training(
        CheckContext(context.plan, [*context.history, *(make_record(0, "world", event) for event in told)])
    )


@pytest.mark.parametrize(("job", "hosts"), WAYS)
def test_good_trainings_pass_and_say_what_they_are(job: str, hosts: int) -> None:
    context = context_of(job, hosts)
    pieces = pieces_of(context)
    assert [(piece.iteration, piece.results, piece.filled, piece.wrong) for piece in pieces] == [
        (0, hosts, 0, ()),
        (1, hosts, 0, ()),
    ]
    assert all(0 < piece.left_out < piece.packets / 9 for piece in pieces)
    assert all(0 < piece.sums_left_out < piece.sum_packets / 9 for piece in pieces)
    found = checked(context)
    assert found.verdict is Verdict.PASS, found.evidence
    assert found.detail.startswith(f"all {2 * hosts} results are the sums of what came: without ")
    assert found.detail.endswith("; ranks got different sums of 2 of 2 pieces, so that their models drift apart")


def test_equal_sums_are_told_to_be_equal() -> None:
    found = checked(context_of(bound="0"))
    assert found.verdict is Verdict.PASS
    assert found.detail.endswith("0 of 160 of sums; all ranks got the same sum of each of 2 pieces")


def test_a_short_piece_is_filled_up_and_its_zeros_are_told() -> None:
    """Here its packets are the first 30 of 40, and what came of them is not what the ranks hold."""
    context = context_of()
    judge = BoundedPieces(context.plan)
    list(judge.posted(0, [row[:1900] for row in contributions(context.plan, 0)]))
    (piece,) = [found for record in context.history for found in judge.hear(record)]
    assert piece.filled == 600
    assert len([wrong for wrong in piece.wrong if "sha256" in wrong]) == 3
    found = checked(context, [replace(each, filled=600) for each in pieces_of(context)])
    assert found.detail.endswith(
        "; 2 pieces ended in zeros, 1,200 in all, which made them as long as the others: the bound counts those "
        "packets, too"
    )


@pytest.mark.parametrize(("job", "hosts"), WAYS)
def test_a_piece_may_be_posted_after_all_was_told(job: str, hosts: int) -> None:
    """Over real packets, where judging is for idle times."""
    context = context_of(job, hosts)
    judge = BoundedPieces(context.plan)
    assert [found for record in context.history for found in judge.hear(record)] == []
    found = [*judge.posted(0, contributions(context.plan, 0)), *judge.posted(1, contributions(context.plan, 1))]
    assert found == pieces_of(context)


def up(record: Record[Any]) -> bool:
    return record.node == "h3" and record.event.sender == 0 and record.event.iteration == 1


def down(record: Record[Any]) -> bool:
    return record.node == "h2" and record.event.iteration == 1


def block(number: int) -> Callable[[Record[Any]], bool]:
    return lambda record: record.event.block == number


def in_step(step: int) -> Callable[[Record[Any]], bool]:
    return lambda record: record.node == "h2" and record.event.iteration == 1 and record.event.step == step


@pytest.mark.parametrize(
    ("job", "kind", "which", "change", "said"),
    [
        (SERVER, CollectiveCompleted, down, lambda e: replace(e, sha256="0" * 64), "sha256 0000000000000000... inst"),
        (SERVER, CollectiveCompleted, down, lambda e: [replace(e, sha256="0" * 64), e], "its result of iteration 1 tw"),
        (SERVER, FlowClosed, up, swapped, "its sum has the ranks"),
        (SERVER, FlowClosed, down, lambda e: None, "its end was not reported"),
        (SERVER, FlowClosed, down, lambda e: [e, e], "h2 ended the flow of rank 2 in iteration 1 twice"),
        (SERVER, FlowClosed, up, lambda e: replace(e, counted=4, bitmap="f"), "it ends with 36 of 40"),
        (SERVER, FlowClosed, up, lambda e: replace(e, counted=40, bitmap=f"{2**40 - 1:x}"), "it ends with 36 of 40"),
        (SERVER, BlockSummed, block(43), lambda e: replace(e, contributions=(2, 1, 1)), "the ranks (2, 1, 1) times"),
        (SWITCHES, PartialSent, block(5), lambda e: None, "no switch sent a sum"),
        (SWITCHES, PartialSent, block(5), lambda e: replace(e, contributions=(1, 2, 1, 0)), "sent a sum of (1, 2, 1"),
        (SWITCHES, SumParts, block(5), lambda e: replace(e, parts=(1, *e.parts)), "are not the ranks"),
        (RING, FlowClosed, in_step(1), swapped, "entered"),
        (RING, FlowClosed, in_step(2), lambda e: None, "its end was not reported"),
        (RING, FlowClosed, in_step(3), lambda e: [e, e], "h2 ended the flow of rank 0 in iteration 1 twice"),
        (RING, FlowClosed, in_step(4), lambda e: replace(e, counted=8, bitmap="ff"), "it ends with 9 of 10"),
    ],
)  # fmt: skip
def test_what_is_wrong_fails(job: str, kind: type, which: Any, change: Any, said: str) -> None:
    found = checked(edited(kind, which, change, job))
    assert found.verdict is Verdict.FAIL
    assert said in found.detail + " ".join(found.evidence)


def test_no_piece_is_judged_before_the_switches_told() -> None:
    """Each node tells on a way of its own. A sum of theirs that nobody took needs not be told at all."""
    context = context_of(SWITCHES, 4)
    told = [record for record in context.history if isinstance(record.event, PartialSent)]
    others = [record for record in context.history if not isinstance(record.event, PartialSent)]
    judge = BoundedPieces(context.plan)
    for iteration in range(ITERATIONS):
        list(judge.posted(iteration, contributions(context.plan, iteration)))
    assert [found for record in others for found in judge.hear(record)] == []
    assert [found.iteration for record in told for found in judge.hear(record)] == [0, 1]
    assert checked(CheckContext(context.plan, [*others, *told])).verdict is Verdict.PASS


def after_all(context: CheckContext, kind: type, change: Callable[[Any], Any], iteration: int = 1) -> CheckResult:
    """An event of that iteration comes once more, when it is judged."""
    blocks = 40 * iteration
    again = next(
        record
        for record in context.history
        if isinstance(record.event, kind)
        and getattr(record.event, "iteration", iteration) == iteration
        and getattr(record.event, "block", blocks) >= blocks
    )
    return checked(CheckContext(context.plan, [*context.history, replace(again, event=change(again.event))]))


@pytest.mark.parametrize("iteration", [0, 1])
@pytest.mark.parametrize("kind", [FlowClosed, BlockSummed, CollectiveCompleted])
def test_what_a_host_tells_of_a_piece_that_is_over_fails(kind: type, iteration: int) -> None:
    """Also of the last one, behind which nothing is judged any more."""
    found = after_all(context_of(), kind, lambda event: event, iteration)
    assert found.verdict is Verdict.FAIL
    assert f"reported {kind.__name__} of iteration {iteration}, which was over" in found.detail


def test_a_switch_may_tell_late_what_the_server_had_no_use_for() -> None:
    context = context_of(SWITCHES, 4)
    assert after_all(context, PartialSent, lambda event: event).verdict is Verdict.PASS
    found = after_all(context, PartialSent, lambda event: replace(event, contributions=(2, 2, 2, 2)))
    assert found.verdict is Verdict.FAIL
    assert "sent a sum of (2, 2, 2, 2) as one of" in found.detail


def test_what_nobody_posted_fails() -> None:
    context = context_of()
    found = checked(context, [pieces_of(context)[0]], posted=1)
    assert found.verdict is Verdict.FAIL
    assert "reported FlowClosed of iteration 1, which no worker posted" in found.detail


def test_what_is_missing_is_not_known() -> None:
    """A rank without a result; nobody who trained."""
    found = checked(edited(CollectiveCompleted, down, lambda event: None))
    assert (found.verdict, found.detail) == (
        Verdict.UNKNOWN,
        "5 of 6 results were reported with all that they depend on; these are right",
    )
    assert checked(CheckContext(context_of().plan, [])).verdict is Verdict.UNKNOWN
    assert checked(CheckContext(context_of().plan, []), [], posted=0).verdict is Verdict.UNKNOWN


def test_what_is_wrong_fails_also_where_something_is_missing() -> None:
    context = edited(CollectiveCompleted, down, lambda event: None)
    history = [
        replace(record, event=replace(record.event, sha256="0" * 64))
        if isinstance(record.event, CollectiveCompleted) and (record.node, record.event.iteration) == ("h1", 1)
        else record
        for record in context.history
    ]
    assert checked(CheckContext(context.plan, history)).verdict is Verdict.FAIL


def test_a_host_that_was_killed_may_not_have_told_all() -> None:
    context = edited(FlowClosed, up, lambda event: None)
    scenario = replace(context.plan.scenario, faults=(Kill("kill", "h3", Window(0, 1)),))
    killed = CheckContext(replace(context.plan, scenario=scenario), context.history)
    assert checked(killed).verdict is Verdict.UNKNOWN
