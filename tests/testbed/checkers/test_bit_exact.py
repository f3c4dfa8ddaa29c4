"""Sums on the hosts against the reference."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import replace

import numpy as np

from testbed.checkers.bit_exact import bit_exact
from testbed.history.verdict import Verdict
from testbed.plan import with_workers
from tests.support.judged import FakeSource, altered, changed, good_totals, matches, without
from tests.support.records import a_record

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


def exact(context):
    return bit_exact(context, FakeSource)


def test_right_sums(good):
    result = exact(good)
    assert (result.verdict, result.detail) == (
        PASS,
        "all 3 workers hold the reference's bits after each of 2 iterations",
    )


def test_one_wrong_bit_is_named(good):
    """h2 holds another element 200 of iteration 1, which came with message 4."""
    total = good_totals(good.plan)[1].copy()
    total.view(np.uint32)[200] ^= 1
    history = altered(
        good.history,
        "CollectiveCompleted",
        {"sha256": hashlib.sha256(total.tobytes()).hexdigest()},
        node="h2",
        iteration=1,
    )
    history = altered(history, "MessageReceived", {"crc32": zlib.crc32(total[188:].tobytes())}, node="h2", message=4)
    result = exact(changed(good, history))
    assert result.verdict is FAIL
    assert "1 of 6 results" in result.detail
    assert "h2, iteration 1" in result.detail
    assert "message 4 (iteration 1, part 2 of 2), elements 188..287" in result.detail


def test_messages_right_but_result_wrong(good):
    history = altered(good.history, "CollectiveCompleted", {"sha256": "00"}, node="h1", iteration=0)
    result = exact(changed(good, history))
    assert result.verdict is FAIL
    assert "put them together wrongly" in result.detail


def test_result_told_twice_with_different_bits(good):
    extra = a_record(10**9, "h1", "CollectiveCompleted", iteration=0, sha256="ff", bytes=4)
    assert exact(changed(good, [*good.history, extra])).verdict is FAIL


def test_missing_result(good):
    result = exact(changed(good, without(good.history, "CollectiveCompleted", node="h3", iteration=1)))
    assert result.verdict is UNKNOWN
    assert "h3 reported no result of iteration 1" in result.detail
    assert exact(changed(good, without(good.history, "CollectiveCompleted"))).verdict is UNKNOWN


def test_a_wrong_sum_outweighs_a_missing_one(good):
    history = without(good.history, "CollectiveCompleted", node="h3")
    history = altered(history, "CollectiveCompleted", {"sha256": "00"}, node="h1", iteration=0)
    assert exact(changed(good, history)).verdict is FAIL


def barrier(good, history):
    job = replace(good.plan.scenario.job, operation="barrier")
    workers = [replace(each, collective=replace(each.collective, kept=(0, 0))) for each in good.plan.ring_workers]
    plan = with_workers(replace(good.plan, scenario=replace(good.plan.scenario, job=job)), workers)
    nothing = altered(history, "CollectiveCompleted", {"sha256": hashlib.sha256(b"").hexdigest()})
    return replace(good, plan=plan, history=nothing)


def test_a_rank_that_leaves_a_barrier_before_another_comes_is_named(good):
    late = 10**9
    history = [
        replace(record, t=late) if matches(record, "CollectiveStarted", iteration=1) and record.node == "h3" else record
        for record in good.history
    ]
    result = exact(barrier(good, history))
    assert result.verdict is FAIL
    assert "left the barrier of iteration 1" in result.detail
    assert "ns before h3 came" in result.detail


def test_a_rank_that_comes_to_a_barrier_again_after_a_restart_came_before(good):
    again = a_record(10**12, "h2", "CollectiveStarted", iteration=0, bytes=4, messages=1)
    assert "left the barrier" not in exact(barrier(good, [*good.history, again])).detail
