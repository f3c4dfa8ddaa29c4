"""What the checker of DLCP makes of runs, and of histories that say something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.faults.model import Kill, Window
from testbed.history import Record
from testbed.history.verdict import Verdict
from testbed.protocols.dlcp.bounded_loss import bounded_loss
from tests.support.dlcp_runs import RING, SWITCHES, context_of, edited, swapped
from workloads.datagrams.blocks import BlockSummed, PartialSent
from workloads.dlcp.events import FlowClosed, SumParts
from workloads.events import CollectiveCompleted


def up(record: Record[Any]) -> bool:
    return record.node == "h3" and record.event.sender == 0 and record.event.iteration == 1


def down(record: Record[Any]) -> bool:
    return record.node == "h2" and record.event.iteration == 1


@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
@pytest.mark.parametrize("workload", ["synthetic", "extreme"])
def test_a_good_run_passes(dtype: str, workload: str) -> None:
    found = bounded_loss(context_of(f"size: 10000B, iterations: 2, dtype: {dtype}, workload: {workload}"))
    assert found.verdict is Verdict.PASS, found.evidence
    assert "without 16 of 160 packets of gradients, and 16 of 160 of sums" in found.detail


def test_models_that_learn_from_different_sums_are_followed() -> None:
    context = context_of("workload: digits, iterations: 2", 2)
    assert len({record.event.sha256 for record in context.events(CollectiveCompleted)}) == 4
    assert bounded_loss(context).verdict is Verdict.PASS


def test_it_stands_in_for_those_that_know_one_right_sum() -> None:
    checked = run_checks(context_of())
    assert {skipped.name for skipped in checked.skipped} >= {"bit_exact", "exactly_once"}
    assert "bounded_loss" in {result.name for result in checked.results}


@pytest.mark.parametrize(
    ("kind", "which", "change", "said"),
    [
        (CollectiveCompleted, down, lambda e: replace(e, sha256="0" * 64), "sha256 0000000000000000... instead of"),
        (FlowClosed, up, swapped, "its sum has the ranks"),
        (FlowClosed, down, swapped, "h2, iteration 1: sha256"),
        (FlowClosed, up, lambda e: None, "its end was not reported"),
        (FlowClosed, down, lambda e: None, "its end was not reported"),
        (FlowClosed, down, lambda e: [e, e], "twice"),
        (FlowClosed, down, lambda e: replace(e, packets=e.packets + 1), "41 packets, it has 40"),
        (FlowClosed, down, lambda e: replace(e, bitmap=f"{int(e.bitmap, 16) | 1 << 40:x}"), "it has 40"),
        (FlowClosed, down, lambda e: replace(e, counted=e.counted + 1), "37 packets counted, 36 in the bitmap"),
        (FlowClosed, up, lambda e: replace(e, counted=40, bitmap=f"{2**40 - 1:x}"), "it ends with 36 of 40"),
        (FlowClosed, up, lambda e: replace(e, counted=4, bitmap="f"), "it ends with 36 of 40"),
        (BlockSummed, lambda r: r.event.block == 3, lambda e: None, "its sum is not reported"),
        (BlockSummed, lambda r: r.event.block == 3, lambda e: [e, e], "summed block 3 twice"),
        (
            BlockSummed,
            lambda r: r.event.block == 3,
            lambda e: replace(e, contributions=(2, 1, 1)),
            "packet 3: its sum has the ranks (2, 1, 1) times",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_fails(kind: type, which: Any, change: Any, said: str) -> None:
    found = bounded_loss(edited(kind, which, change))
    assert found.verdict is Verdict.FAIL
    assert said in found.detail + " ".join(found.evidence)


def test_what_is_missing_is_not_known() -> None:
    """A worker that did not finish; nobody who did."""
    context = edited(CollectiveCompleted, down, lambda event: None)
    found = bounded_loss(context)
    assert (found.verdict, found.evidence) == (Verdict.UNKNOWN, ("h2, iteration 1",))
    assert bounded_loss(CheckContext(context.plan, [])).verdict is Verdict.UNKNOWN


def test_a_server_that_was_killed_may_not_have_told_all() -> None:
    context = edited(FlowClosed, up, lambda event: None)
    scenario = replace(context.plan.scenario, faults=(Kill("kill", "h3", Window(0, 1)),))
    killed = CheckContext(replace(context.plan, scenario=scenario), context.history)
    assert bounded_loss(killed).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("over", [SWITCHES, RING])
def test_good_runs_with_switches_that_add_and_in_rings_pass(over: str, dtype: str) -> None:
    context = context_of(f"{over}, dtype: {dtype}", 4)
    found = bounded_loss(context)
    assert found.verdict is Verdict.PASS, found.evidence
    late = [record for record in context.events(PartialSent) if record.event.reason == "late"]
    assert bool(late) == (over == SWITCHES)


def of_several(record: Record[Any]) -> bool:
    return record.event.block == 5


@pytest.mark.parametrize(
    ("kind", "which", "change", "said"),
    [
        (SumParts, of_several, lambda e: replace(e, parts=(15,)), "no switch sent a sum of the ranks 0xf"),
        (SumParts, of_several, lambda e: replace(e, parts=(1, *e.parts)), "are not the ranks"),
        (SumParts, of_several, lambda e: None, "are not the ranks"),
        (PartialSent, of_several, lambda e: None, "no switch sent a sum"),
        (PartialSent, of_several, lambda e: replace(e, contributions=(1, 2, 1, 0)), "sent a sum of (1, 2, 1, 0)"),
        (
            FlowClosed,
            lambda r: r.node == "h4" and r.event.sender == 0,
            lambda e: replace(e, counted=2, bitmap="3"),
            "it ends with 36 of 40",
        ),
    ],
)
def test_what_is_wrong_with_parts_fails(kind: type, which: Any, change: Any, said: str) -> None:
    found = bounded_loss(edited(kind, which, change, SWITCHES))
    assert found.verdict is Verdict.FAIL
    assert said in found.detail + " ".join(found.evidence)


def in_step(step: int) -> Callable[[Record[Any]], bool]:
    return lambda record: record.node == "h2" and record.event.iteration == 1 and record.event.step == step


@pytest.mark.parametrize(
    ("kind", "which", "change", "said"),
    [
        (FlowClosed, in_step(1), swapped, "entered"),
        (FlowClosed, in_step(5), swapped, "sha256"),
        (FlowClosed, in_step(2), lambda e: None, "its end was not reported"),
        (FlowClosed, in_step(4), lambda e: replace(e, counted=10, bitmap=f"{2**10 - 1:x}"), "it ends with 9 of 10"),
        (BlockSummed, lambda r: r.node == "h3" and r.event.block == 5, lambda e: None, "None entered"),
        (CollectiveCompleted, down, lambda e: replace(e, sha256="0" * 64), "sha256 0000000000000000... instead of"),
    ],
)
def test_what_is_wrong_in_a_ring_fails(kind: type, which: Any, change: Any, said: str) -> None:
    found = bounded_loss(edited(kind, which, change, RING))
    assert found.verdict is Verdict.FAIL
    assert said in found.detail + " ".join(found.evidence)
