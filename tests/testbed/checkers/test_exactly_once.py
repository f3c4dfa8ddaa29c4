"""Every contribution counts once."""

from __future__ import annotations

import pytest

from testbed.checkers.exactly_once import exactly_once
from testbed.checkers.liveness import liveness
from testbed.verdict import Verdict
from tests.support.judged import altered, changed, restarted, without

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


def test_all_counted_once(good):
    result = exactly_once(good)
    assert (result.verdict, result.detail) == (PASS, "5 messages of 3 ranks: every packet entered its sum once")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"contributions": [3, 4, 3]}, "4 packets of rank 1 (h2) entered its sums, not 3"),
        ({"contributions": [3, 3, 2]}, "2 packets of rank 2 (h3) entered its sums, not 3"),
        ({"contributions": [3, 3]}, "counts 2 ranks, the job has 3"),
        ({"packets": 2, "contributions": [2, 2, 2]}, "was aggregated with 2 packets, it has 3"),
        ({"message": 1}, "message 1 (iteration 0, part 1 of 2) was aggregated twice"),
        ({"message": 9}, "message 9 was aggregated, the job has only 5 messages"),
    ],
)
def test_not_once(good, change, found):
    result = exactly_once(changed(good, altered(good.history, "MessageAggregated", change, message=3)))
    assert result.verdict is FAIL
    assert found in " ".join(result.evidence)


def test_message_never_aggregated(good):
    gone = without(good.history, "MessageAggregated", message=3)
    result = exactly_once(changed(good, gone))
    assert result.verdict is FAIL
    assert "message 3 (iteration 1, part 1 of 2) reached a worker and was never aggregated" in result.detail
    silent = without(without(gone, "MessageReceived", message=3), "WorkerFinished")
    assert exactly_once(changed(good, silent)).verdict is UNKNOWN
    assert exactly_once(changed(good, without(gone, "MessageReceived", message=3))).verdict is FAIL


def started_anew(good, node):
    started = next(r for r in good.history if r["event"] == "NodeStarted" and r["node"] == node)
    return [*good.history, {**started, "t": 7}]


def test_what_a_switch_summed_in_two_lives_is_told_by_none(good):
    gone = without(started_anew(good, "s1"), "MessageAggregated", message=3)
    result = exactly_once(changed(good, gone))
    assert (result.verdict, result.detail) == (
        UNKNOWN,
        (
            "the switch told nothing of 1 of 5 messages; first: message 3 (iteration 1, part 1 of 2); s1 started anew, and a "
            "message that was summed in two lives is told by none"
        ),
    )
    a_host = without(started_anew(good, "h1"), "MessageAggregated", message=3)
    assert exactly_once(changed(good, a_host)).verdict is FAIL


def test_leftovers_of_a_switch_that_started_anew_prove_nothing(good):
    left = altered(started_anew(good, "s1"), "SlotsAtEnd", {"open": 2})
    assert liveness(changed(good, left)).verdict is UNKNOWN
    assert liveness(changed(good, altered(started_anew(good, "h1"), "SlotsAtEnd", {"open": 2}))).verdict is FAIL


def test_a_switch_that_starts_anew_may_sum_again(good):
    at = max(n for n, record in enumerate(good.history) if record["event"] == "MessageAggregated")
    again = restarted(good.history, "s1", at)
    assert exactly_once(changed(good, again)).verdict is Verdict.PASS
    without_death = [record for record in again if record.get("status") != -9]
    assert exactly_once(changed(good, without_death)).verdict is Verdict.FAIL
