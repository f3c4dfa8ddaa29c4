"""Verdicts on runs with parameter servers: a right history passes, and each kind of lie in it is found."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.history import Record, sort_history
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.records import a_record, event_with
from workloads.datagrams.blocks import BlockSummed
from workloads.events import WorkerFinished

SMALL = ["job.size=20kB", "job.iterations=1", "switch.memory=12"]


@cache
def run(name: str) -> tuple[Plan, tuple[Record, ...]]:
    plan = make_plan(load_scenario(name, SMALL, world="simulated"))
    return plan, tuple(sort_history(simulate(plan)))


def verdict(
    name: str, check: str, change: Callable[[Record], Record | None] = lambda record: record, *more: Any
) -> CheckResult:
    plan, history = run(name)
    changed = [found for record in history if (found := change(record)) is not None]
    (result,) = [found for found in run_checks(CheckContext(plan, [*changed, *more])).results if found.name == check]
    return result


def once(event: str, **changes: Any) -> Callable[[Record], Record]:
    """The first record of that event says something else."""
    left = [1]

    def change(record: Record) -> Record:
        if record.name == event and left:
            left.clear()
            return event_with(record, **changes)
        return record

    return change


@pytest.mark.parametrize("name", ["atp", "esa", "atp-two-jobs"])
@pytest.mark.parametrize("check", ["bit_exact", "exactly_once", "liveness", "slots_private"])
def test_a_right_run_passes(name: str, check: str) -> None:
    assert verdict(name, check).verdict is Verdict.PASS


def test_the_credit_of_esa_is_not_judged() -> None:
    assert verdict("atp", "credit_bound").verdict is Verdict.PASS
    plan, history = run("esa")
    (skipped,) = [found for found in run_checks(CheckContext(plan, history)).skipped if found.name == "credit_bound"]
    assert (
        skipped.reason
        == "switches of esa send results that its server never sees: no node knows which workers are ahead"
    )


def test_the_server_is_no_worker() -> None:
    plan, _ = run("atp")
    assert [server.name for server in plan.servers] == ["h5"]
    assert [host.name for host in plan.hosts] == ["h1", "h2", "h3", "h4", "h5"]
    assert [worker.name for worker in plan.workers] == ["h1", "h2", "h3", "h4"]


def test_a_part_that_entered_twice_at_the_server() -> None:
    found = verdict("atp", "exactly_once", once("BlockSummed", contributions=(1, 2, 1, 1)))
    assert found.verdict is Verdict.FAIL
    assert found.detail == (
        "1 violation; first: block 0 (iteration 0, packet 1 of 36) of job 1: the packet of rank 1 (h2) entered its sum "
        "2 times"
    )


def summed_again(*between: Record) -> CheckResult:
    """The first sum comes twice, with `between` between."""
    plan, history = run("atp")
    place = next(index for index, record in enumerate(history) if isinstance(record.event, BlockSummed))
    changed = [*history[: place + 1], *between, history[place], *history[place + 1 :]]
    (result,) = [found for found in run_checks(CheckContext(plan, changed)).results if found.name == "exactly_once"]
    return result


def test_a_block_that_the_server_summed_twice() -> None:
    found = summed_again()
    assert (found.verdict, found.detail.split(": ", 1)[1]) == (
        Verdict.FAIL, "block 0 (iteration 0, packet 1 of 36) of job 1 was summed twice",
    )  # fmt: skip


def test_a_server_that_lost_its_memory_may_sum_a_block_again() -> None:
    assert summed_again(a_record(0, "h5", "NodeExited")).verdict is Verdict.PASS


def test_a_block_that_nobody_summed() -> None:
    found = verdict(
        "esa", "exactly_once", lambda r: None if isinstance(r.event, BlockSummed) and r.event.block == 3 else r
    )
    assert found.verdict is Verdict.FAIL
    assert "block 3 (iteration 0, packet 4 of 36) of job 1" in found.evidence[0]


def test_a_sum_on_its_way_that_is_not_what_its_bitmap_says() -> None:
    found = verdict(
        "atp", "exactly_once", once("PartialSent", contributions=(1, 0, 2, 1), bitmap=13, block=5, reason="flushed")
    )
    assert found.verdict is Verdict.FAIL
    assert found.detail == (
        "1 violation; first: s1 sent a sum of block 5 of job 1 (flushed) whose bitmap is 0xd, and in which the ranks "
        "are "
        "[1, 0, 2, 1] times"
    )


def test_who_sums_a_job_that_it_does_not_serve() -> None:
    found = verdict("atp", "exactly_once", once("BlockSummed", node="h1"))
    assert (found.verdict, "block 0 of job 1 was summed by h1, which does not serve that job" in found.detail) == (
        Verdict.FAIL, True,
    )  # fmt: skip


def test_what_is_left_at_the_server() -> None:
    found = verdict("atp", "liveness", once("ServerStatistics", open=2))
    assert (found.verdict, found.detail) == (
        Verdict.FAIL, "every worker finished, but contributions without a sum are left: h5, job 1: 2 blocks",
    )  # fmt: skip
    born = a_record(0, "h5", "NodeStarted")
    again = verdict("atp", "liveness", once("ServerStatistics", open=2), event_with(born, role="host", backend=""))
    assert again.verdict is Verdict.UNKNOWN, "a server that starts anew has copies of blocks that are complete"
    assert verdict("esa", "liveness", once("ServerStatistics", open=2)).verdict is Verdict.PASS


def test_why_a_worker_did_not_finish() -> None:
    failed = {"reason": "lost", "detail": "packet 2 of job 1: the parameter server no longer has its sum, others do"}

    def change(record: Record) -> Record:
        if isinstance(record.event, WorkerFinished) and record.node == "h2":
            return a_record(record.t, "h2", "WorkerFailed", **failed)
        return record

    found = verdict("atp", "liveness", change)
    assert found.verdict is Verdict.FAIL
    assert f"h2 gave up with lost: {failed['detail']}" in found.detail


def test_what_a_stalled_worker_waited_for() -> None:
    resent = a_record(1, "h2", "DatagramResent", job=1, block=2, slot=0, cause="timeout", attempt=1)

    def change(record: Record) -> Record | None:
        return None if isinstance(record.event, WorkerFinished) and record.node == "h2" else record

    found = verdict("atp", "liveness", change, resent)
    assert found.detail.endswith(
        "h2 sent block 2 (iteration 0, packet 3 of 36) 2 times: a switch or the server had summed it, the result did "
        "not arrive"
    )


def test_who_goes_ahead_of_results() -> None:
    ahead = a_record(5, "h5", "ContributionIgnored", job=1, rank=2, block=20, slot=3, reason="overrun")
    found = verdict("atp", "credit_bound", lambda record: record, ahead)
    assert found.verdict is Verdict.FAIL
    assert "h5 got block 20 of rank 2 of job 1 before that worker could know that slot 3 is free" in found.detail
    born = a_record(0, "h5", "NodeStarted", role="host", backend="")
    assert verdict("atp", "credit_bound", lambda record: record, ahead, born).verdict is Verdict.PASS


def test_shared_slots_are_no_overlap_but_have_an_end() -> None:
    found = verdict("atp-two-jobs", "slots_private")
    assert found.detail.startswith("all slots are everybody's, one block in each: ")
    wrong = verdict("atp-two-jobs", "slots_private", once("MemoryAtEnd", peak_occupied=13))
    assert (wrong.verdict, "used 13 of its 12 values" in wrong.detail) == (Verdict.FAIL, True)
