"""Every contribution counts once."""

from __future__ import annotations

import pytest

from switch_nodes.events import MessageAggregated
from testbed.checkers.context import CheckContext
from testbed.checkers.exactly_once import exactly_once
from testbed.checkers.liveness import liveness
from testbed.history import Record
from testbed.history.events import NodeStarted
from testbed.history.verdict import CheckResult, Verdict
from testbed.worlds.simulated import simulate
from tests.support.judged import altered, changed, matches, restarted, without
from tests.support.records import event_with, held
from tests.support.simulation import rack_plan
from topologies import LinkShape, spine_leaf

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
    started = next(r for r in good.history if isinstance(r.event, NodeStarted) and r.node == node)
    return [*good.history, event_with(started, t=7)]


def test_what_a_switch_summed_in_two_lives_is_told_by_none(good):
    gone = without(started_anew(good, "s1"), "MessageAggregated", message=3)
    result = exactly_once(changed(good, gone))
    assert (result.verdict, result.detail) == (
        UNKNOWN,
        (
            "the switch reported nothing about 1 of 5 messages; first: message 3 (iteration 1, part 1 of 2); s1 "
            "restarted: "
            "messages that were summed in part before are not reported"
        ),
    )
    a_host = without(started_anew(good, "h1"), "MessageAggregated", message=3)
    assert exactly_once(changed(good, a_host)).verdict is FAIL


def test_leftovers_of_a_switch_that_started_anew_prove_nothing(good):
    left = altered(started_anew(good, "s1"), "SlotsAtEnd", {"open": 2})
    assert liveness(changed(good, left)).verdict is UNKNOWN
    assert liveness(changed(good, altered(started_anew(good, "h1"), "SlotsAtEnd", {"open": 2}))).verdict is FAIL


def test_a_switch_that_starts_anew_may_sum_again(good):
    at = max(n for n, record in enumerate(good.history) if isinstance(record.event, MessageAggregated))
    again = restarted(good.history, "s1", at)
    assert exactly_once(changed(good, again)).verdict is Verdict.PASS
    without_death = [record for record in again if held(record, "status") != -9]
    assert exactly_once(changed(good, without_death)).verdict is Verdict.FAIL


LAST = 3
"""message of the fabric's run that the tests below change"""


@pytest.fixture(scope="module")
def fabric() -> CheckContext:
    """Two racks of two hosts, two spines, one message at the one and the rest at the other."""
    job = {"protocol": "netreduce", "size_bytes": 8000, "message_packets": 2, "window_messages": 2}
    plan = rack_plan(topology=spine_leaf([2, 2], 2, LinkShape()), job=job)
    return CheckContext(plan, simulate(plan), [])


def judged(context: CheckContext, history: list[Record]) -> CheckResult:
    return exactly_once(changed(context, history))


def roots(context: CheckContext) -> dict[int, str]:
    told = (record for record in context.history if isinstance(record.event, MessageAggregated))
    return {record.event.message: record.node for record in told if record.node.startswith("spine")}


def test_over_two_tiers_all_counted_once(fabric):
    result = exactly_once(fabric)
    assert result.verdict is PASS
    assert set(roots(fabric).values()) == {"spine1", "spine2"}
    assert result.detail == (
        f"{len(roots(fabric))} messages of 4 ranks: every packet entered its sum once in its rack, and every rack's "
        "once in a "
        "spine (spine1, spine2)"
    )


@pytest.mark.parametrize("leaf", ["leaf1", "leaf2"])
def test_a_leaf_that_did_not_sum(fabric, leaf):
    result = judged(fabric, without(fabric.history, "MessageAggregated", node=leaf, message=LAST))
    assert result.verdict is FAIL
    assert "message 3 (iteration 0, part 3 of 4) reached a worker and was never aggregated" in result.detail


def test_a_message_that_no_spine_summed(fabric):
    root = roots(fabric)[LAST]
    result = judged(fabric, without(fabric.history, "MessageAggregated", node=root, message=LAST))
    assert result.verdict is FAIL
    assert "message 3 (iteration 0, part 3 of 4) reached a worker and was never aggregated" in result.detail
    silent = without(fabric.history, "MessageReceived", message=LAST)
    unfinished = without(without(silent, "WorkerFinished"), "MessageAggregated", node=root, message=LAST)
    result = judged(fabric, unfinished)
    assert result.verdict is UNKNOWN
    assert result.detail.startswith("a switch reported nothing about 1 of 5 messages; first: message 3")


def test_a_message_that_two_spines_summed(fabric):
    root = roots(fabric)[LAST]
    other = {"spine1": "spine2", "spine2": "spine1"}[root]
    (told,) = [r for r in fabric.history if matches(r, "MessageAggregated", node=root, message=LAST)]
    result = judged(fabric, [event_with(told, node=other), *fabric.history])
    assert result.verdict is FAIL
    assert "was summed by several spines: spine1, spine2" in result.detail


@pytest.mark.parametrize("node", ["leaf1", "leaf2", "root"])
def test_what_a_switch_of_two_tiers_counted_wrong(fabric, node):
    """Ranks are named by their numbers in the whole ring: members of a leaf are its hosts, of a spine the racks'
    last."""
    name = roots(fabric)[LAST] if node == "root" else node
    rank, host = {"leaf1": (1, "h2"), "leaf2": (3, "h4"), "root": (3, "h4")}[node]
    result = judged(
        fabric, altered(fabric.history, "MessageAggregated", {"contributions": [2, 1]}, node=name, message=LAST)
    )
    assert result.verdict is FAIL
    assert f": 1 packets of rank {rank} ({host}) entered its sums by {name}, not 2" in result.detail
    many = altered(fabric.history, "MessageAggregated", {"contributions": [2, 2, 2, 2]}, node=name, message=LAST)
    assert f"counts 4 ranks, {name} has 2" in judged(fabric, many).detail
    (told,) = [r for r in fabric.history if matches(r, "MessageAggregated", node=name, message=LAST)]
    assert f"was aggregated twice by {name}" in judged(fabric, [told, *fabric.history]).detail
