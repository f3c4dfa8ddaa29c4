"""Judges of jobs that switches serve: a good history passes, each broken one is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.history import Record
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from tests.support.records import a_record, event_with, held
from topologies import LinkShape, rack
from workloads.events import WorkerFinished

pytestmark = pytest.mark.protocols("switchml")

PLAN = make_plan(
    Scenario(
        "t", rack(2, LinkShape()), LinkShape(), switch=SwitchOptions("switchml", memory=8),
        transport=Transport(path_mtu=256),
        job=Job(protocol="switchml", size_bytes=4 * 64 * 5, window_packets=2),
    )
)  # fmt: skip
"""two workers, 5 blocks of 64 elements, W = 2: 7 packets in one iteration"""


def event(kind: str, node: str = "s1", t: int = 5, **fields: Any) -> Record:
    return a_record(t, node, kind, **fields)


def summed(block: int, *contributions: int, **changes: Any) -> Record:
    return event(
        "BlockSummed", **({"job": 1, "block": block, "slot": block % 2, "contributions": contributions} | changes)
    )


def good() -> list[Record]:
    records = [event("NodeStarted", name) for name in ("h1", "h2", "s1")]
    records.append(event("TrafficStarted", "world", nodes=3))
    records += [summed(block, 1, 1) for block in range(7)]
    records += [event("WorkerFinished", name, iterations=1) for name in ("h1", "h2")]
    memory = {"job": 1, "first_slot": 0, "slots": 4, "open": 0, "values": 8, "peak_occupied": 3, "busy_ns": 9}
    return [*records, event("MemoryAtEnd", **memory)]


def check(name: str, records: list[Record], plan: Plan = PLAN) -> CheckResult:
    (found,) = (result for result in run_checks(CheckContext(plan, records)).results if result.name == name)
    return found


def without(kind: str) -> list[Record]:
    return [record for record in good() if record.name != kind]


def changed(kind: str, **fields: Any) -> list[Record]:
    return [event_with(record, **fields) if record.name == kind else record for record in good()]


def test_a_good_history_passes() -> None:
    for name in ("exactly_once", "liveness", "credit_bound", "slots_private"):
        assert check(name, good()).verdict is Verdict.PASS, name
    assert check("exactly_once", good()).detail == "7 blocks, 2 workers: every packet entered its sum once"
    assert check("slots_private", good()).detail == (
        "every job kept to its own slots; most values in use: job 1 on s1: 3 of 8"
    )


def test_transparency_does_not_apply() -> None:
    skipped = {item.name: item.reason for item in run_checks(CheckContext(PLAN, good())).skipped}
    assert set(skipped) == {"transparency"}


@pytest.mark.parametrize(
    ("more", "detail"),
    [
        (summed(3, 1, 1), "1 violation; first: block 3 (iteration 0, packet 4 of 7) of job 1 was summed twice"),
        (summed(7, 1, 1), "block 7 (iteration 1, packet 1 of 7) of job 1 was summed, the job has only 7"),
        (
            summed(0, 1, 1, job=2),
            "block 0 of job 2 was summed by s1, which does not serve that job",
        ),
    ],
)
def test_a_sum_too_many(more: Record, detail: str) -> None:
    found = check("exactly_once", [*good(), more])
    assert found.verdict is Verdict.FAIL
    assert detail in found.detail


@pytest.mark.parametrize(
    ("contributions", "detail"),
    [
        ((1, 2), "the packet of rank 1 (h2) entered its sum 2 times"),
        ((0, 1), "the packet of rank 0 (h1) entered its sum 0 times"),
        ((1, 1, 1), "counts 3 ranks, the job has 2"),
    ],
)
def test_a_wrong_sum(contributions: tuple[int, ...], detail: str) -> None:
    records = [record for record in good() if held(record, "block") != 4] + [summed(4, *contributions)]
    found = check("exactly_once", records)
    assert found.verdict is Verdict.FAIL
    assert detail in found.detail


def test_a_missing_sum() -> None:
    records = [record for record in good() if held(record, "block") != 4]
    found = check("exactly_once", records)
    assert (found.verdict, found.detail) == (
        Verdict.FAIL,
        "no switch reported 1 of 7 blocks; first: block 4 (iteration 0, packet 5 of 7) of job 1",
    )
    unfinished = [record for record in records if not isinstance(record.event, WorkerFinished)]
    assert check("exactly_once", unfinished).verdict is Verdict.UNKNOWN


def test_a_switch_that_starts_anew_may_sum_again() -> None:
    death = event("NodeExited", status=-9, expected=True, output="")
    assert check("exactly_once", [*good(), death, summed(6, 1, 1)]).verdict is Verdict.PASS
    assert check("exactly_once", [*good(), event_with(death, node="h1"), summed(6, 1, 1)]).verdict is Verdict.FAIL


def test_an_overrun_breaks_the_credit() -> None:
    ignored = event("ContributionIgnored", job=1, rank=1, block=2, slot=0, reason="overrun")
    found = check("credit_bound", [*good(), ignored])
    assert found.verdict is Verdict.FAIL
    assert "got block 2 of rank 1 of job 1 before that worker could know that slot 0 is free" in found.detail
    assert check("credit_bound", [*good(), event_with(ignored, reason="duplicate")]).verdict is Verdict.PASS
    assert check("credit_bound", without("BlockSummed")).verdict is Verdict.UNKNOWN


def test_a_slot_that_got_another_block_is_not_private() -> None:
    mixed = a_record(5, "s1", "SlotMixed", job=1, block=2, rank=0, slot=3, owner_job=1, owner_block=1)  # fmt: skip
    found = check("slots_private", [*good(), mixed])
    assert found.verdict is Verdict.FAIL
    assert "slot 3 of s1 has block 1 of job 1, and got block 2 of job 1 from rank 0" in found.detail


@pytest.mark.parametrize(
    ("records", "verdict", "detail"),
    [
        (changed("MemoryAtEnd", peak_occupied=9), Verdict.FAIL, "used 9 of its 8 values"),
        (changed("MemoryAtEnd", first_slot=1), Verdict.FAIL, "has slots from 1, 4 of them"),
        (changed("MemoryAtEnd", job=2), Verdict.FAIL, "s1 has slots of job 2, which it does not serve"),
        (changed("BlockSummed", slot=4), Verdict.FAIL, "used slot 4, which is not its own"),
        (without("MemoryAtEnd"), Verdict.UNKNOWN, "the slots of job 1 on s1 are not reported"),
    ],
)
def test_slots_of_others(records: list[Record], verdict: Verdict, detail: str) -> None:
    found = check("slots_private", records)
    assert found.verdict is verdict
    assert detail in found.detail


def test_parts_that_overlap() -> None:
    (switch,) = PLAN.switches
    (job,) = switch.jobs
    plan = replace(PLAN, switches=(replace(switch, jobs=(job, replace(job, job=2, first_slot=3))),))
    assert "jobs 1 and 2 share slots of s1" in check("slots_private", good(), plan).detail
    beside = replace(PLAN, switches=(replace(switch, jobs=(replace(job, job=2, first_slot=4), job)),))
    assert check("slots_private", good(), beside).detail == "the slots of job 2 on s1 are not reported"


@pytest.mark.parametrize(
    ("records", "verdict", "detail"),
    [
        (changed("MemoryAtEnd", open=2), Verdict.FAIL, "contributions without a sum are left: s1, job 1: 2 slots"),
        (without("MemoryAtEnd"), Verdict.UNKNOWN, "a switch did not tell what is left"),
        ([], Verdict.UNKNOWN, "the history contains no traffic"),
        (without("WorkerFinished"), Verdict.FAIL, "2 of 2 workers did not finish; h1 waited, and sent nothing again"),
    ],
)
def test_what_is_left(records: list[Record], verdict: Verdict, detail: str) -> None:
    found = check("liveness", records)
    assert found.verdict is verdict
    assert detail in found.detail


def test_a_switch_that_started_anew_may_have_leftovers_and_name_who_went_ahead() -> None:
    again = event("NodeStarted", "s1")
    left = changed("MemoryAtEnd", open=2)
    assert check("liveness", left).verdict is Verdict.FAIL
    assert check("liveness", [*left, event_with(again, node="h1")]).verdict is Verdict.FAIL
    assert check("liveness", [*left, again]).verdict is Verdict.UNKNOWN
    ahead = event("ContributionIgnored", job=1, rank=1, block=2, slot=0, reason="overrun")
    assert check("credit_bound", [*good(), ahead, again]).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("block", "what"), [(4, "the switch had summed it, the result did not"), (9, "never summed it")]
)
def test_who_waited_for_what(block: int, what: str) -> None:
    resent = event("DatagramResent", "h2", job=1, block=block, slot=0, cause="timeout", attempt=1)
    found = check("liveness", [*without("WorkerFinished"), resent])
    assert f"h2 sent block {block} " in found.evidence[-1]
    assert what in found.evidence[-1]


def test_results_that_workers_refused_are_told_with_who_and_why() -> None:
    """A switch whose results carry the wrong slot: they arrive, and nobody can take them."""
    refused = [
        a_record(10**6 * at, worker, "FrameRejected", reason="bad_result", detail=f"block {at} in slot 7")
        for at, worker in enumerate(("h1", "h2", "h2"), 3)
    ]
    resent = a_record(5, "h2", "DatagramResent", job=1, block=0, cause="timeout", attempt=1)
    history = [record for record in good() if (record.name, record.node) != ("WorkerFinished", "h2")]
    result = check("liveness", [*history, *refused, resent])
    assert result.verdict is Verdict.FAIL
    assert result.detail.startswith(
        "1 of 2 workers did not finish; 3 results came and were refused as bad_result (h1 1x, h2 2x), the first by h1 "
        "at "
        "3 ms: block 3 in slot 7; h2 sent "
    )
    assert result.detail.endswith("the switch had summed it, h2 refused 2 results")
    assert "did not arrive" not in result.detail
