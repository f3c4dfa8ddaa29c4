"""Everything completes, and a stall is explained."""

from __future__ import annotations

import pytest

from testbed.checkers import CheckContext
from testbed.checkers.liveness import liveness
from testbed.faults.model import Pause, Window
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.terminal.numbers import moment, seconds
from testbed.worlds.simulated import simulate
from tests.support.judged import altered, changed, good_context, matches, small_plan, without
from tests.support.records import a_record, event_with

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


def test_all_finished(good):
    assert liveness(good).verdict is PASS
    assert liveness(good).detail == "all 3 workers finished; no slot holds a leftover"


def test_contribution_left_in_a_slot(good):
    result = liveness(changed(good, altered(good.history, "SlotsAtEnd", {"open": 2})))
    assert result.verdict is FAIL
    assert "s1, ring 1: 2 slots" in result.detail


def test_silent_switch(good):
    assert liveness(changed(good, without(good.history, "SlotsAtEnd"))).verdict is UNKNOWN
    assert liveness(changed(good, [])).verdict is UNKNOWN
    plain = good_context(program="forward", protocol="shift")
    assert liveness(changed(plain, without(plain.history, "SlotsAtEnd"))).verdict is PASS


def stalled(context, *more):
    """h3 never gets its last message, and gives up."""
    history = without(context.history, "WorkerFinished", node="h3")
    history = without(history, "MessageReceived", node="h3", message=4)
    return [*without(history, "CollectiveCompleted", node="h3", iteration=1), *more]


def test_stall_is_explained(good):
    qpn = good.plan.workers[2].to_successor.qpn
    failed = a_record(2_500_000_000, "h3", "QpFailed", qpn=qpn, status="RETRY_EXC", psn=7,
        detail="8 timeouts of 134 ms towards 10.77.0.2")  # fmt: skip
    result = liveness(changed(good, stalled(good, failed)))
    assert result.verdict is FAIL
    assert result.detail == (
        f"1 of 3 workers did not finish; at 2.5 s the queue pair {qpn:#x} of h3 towards h1 failed with RETRY_EXC (it "
        "sent "
        "the same packets until its retries were used up, and no answer came) at PSN 7: 8 timeouts of 134 ms towards "
        "10.77.0.2"
    )
    assert result.evidence[-1] == (
        "h3 waited for the result of message 4 (iteration 1, part 2 of 2): every worker had sent it and the switch had "
        "summed it, the result did not arrive whole"
    )


def test_stall_names_who_owed_the_message(good):
    history = [
        record
        for record in stalled(good)
        if not matches(record, "MessagePosted", node="h2", message=4)
        and not matches(record, "MessageAggregated", message=4)
    ]
    result = liveness(changed(good, history))
    assert result.verdict is FAIL
    assert (
        "h3 waited for the result of message 4 (iteration 1, part 2 of 2), which h2 had not sent yet" in result.detail
    )
    posted = without(stalled(good), "MessageAggregated", message=4)
    assert "the switch did not get all packets of it" in liveness(changed(good, posted)).detail


def test_time_limit_and_bad_result(good):
    limit = a_record(60_000_000_000, "world", "TimeLimitReached", limit_ns=60_000_000_000,
        unfinished=["h3"])  # fmt: skip
    result = liveness(changed(good, stalled(good, limit)))
    assert "at 60 s the time limit of 60 s was reached, unfinished: h3" in result.detail
    dry = liveness(changed(good, stalled(good, event_with(limit, t=104_000_000))))
    assert "the time limit of 60 s was reached, and nothing more happened after 104 ms; unfinished: h3" in dry.detail
    gave_up = a_record(10**9, "h3", "WorkerFailed", reason="bad_result", detail="rank 0")
    assert "h3 gave up with bad_result: rank 0" in liveness(changed(good, stalled(good, gave_up, limit))).detail


GAVE_UP_AT = 5_000_000_000
PATIENCE = 8 * (4_096 << small_plan().scenario.transport.chosen_timeout_code)


def gave_up(context, stood_ns, until_ns, *, status="RETRY_EXC", node="h1", **late):
    failed = a_record(GAVE_UP_AT, "h3", "QpFailed", qpn=context.plan.workers[2].to_successor.qpn, status=status, psn=7,
        detail="x")  # fmt: skip
    plane = a_record(9_000_000_000, node, "PlaneStatistics", stood_ns=stood_ns, stood_until_ns=until_ns, **late)
    return liveness(changed(context, stalled(context, failed, plane)))


@pytest.mark.parametrize("node", ["h1", "s1"])
@pytest.mark.parametrize(("stood_ns", "until_ns"), [(PATIENCE, GAVE_UP_AT), (3 * PATIENCE, GAVE_UP_AT + PATIENCE)])
def test_a_node_that_the_machine_let_stand_still_makes_it_unknown(good, node, stood_ns, until_ns):
    result = gave_up(good, stood_ns, until_ns, node=node)
    assert result.verdict is UNKNOWN
    assert result.detail.startswith(
        f"1 of 3 workers did not finish, and the machine let {node} stand still for {seconds(stood_ns / 1e9)} until "
        f"{moment(until_ns)}; a sender that hears nothing gives up after {seconds(PATIENCE / 1e9)}; "
        "at 5 s the queue pair "
    )
    assert result.evidence[0].startswith(f"the machine let {node} stand still")


@pytest.mark.parametrize(
    ("stood_ns", "until_ns", "status"),
    [
        (0, 0, "RETRY_EXC"),
        (PATIENCE // 2, GAVE_UP_AT, "RETRY_EXC"),  # the other half of its attempts could be answered
        (3 * PATIENCE, GAVE_UP_AT - PATIENCE, "RETRY_EXC"),  # before
        (3 * PATIENCE, GAVE_UP_AT + 3 * PATIENCE, "RETRY_EXC"),  # after
        (3 * PATIENCE, GAVE_UP_AT, "REM_ACCESS"),  # no wait explains that
    ],
)
def test_a_real_failure_stays_one(good, stood_ns, until_ns, status):
    assert gave_up(good, stood_ns, until_ns, status=status).verdict is FAIL


@pytest.mark.parametrize(
    ("late_ns", "deadlines", "verdict"),
    [(PATIENCE // 8, 20, UNKNOWN), (PATIENCE // 8 - 1, 20, FAIL), (PATIENCE, 19, FAIL)],
)
def test_so_does_a_node_that_was_later_than_a_sender_waits(good, late_ns, deadlines, verdict):
    result = gave_up(good, 0, 0, node="s1", lag_p99_ns=late_ns, deadlines=deadlines)
    assert result.verdict is verdict
    told = (
        f"the machine let s1 do what was due {seconds(late_ns / 1e9)} late (99th percentile); a sender waits "
        f"{seconds(PATIENCE / 8e9)} for an answer"
    )
    assert (told in result.detail) is (verdict is UNKNOWN)


def test_a_node_that_a_fault_paused_is_no_excuse():
    paused = good_context(Pause("p", node="h1", window=Window(0, 10**9)))
    assert gave_up(paused, 3 * PATIENCE, GAVE_UP_AT).verdict is FAIL
    assert gave_up(paused, 3 * PATIENCE, GAVE_UP_AT, node="h2").verdict is UNKNOWN


def test_a_dead_link_is_named_and_each_failure_is_told_once():
    plan = make_plan(load_scenario("dead-link", world="simulated"))
    result = liveness(CheckContext(plan, simulate(plan)))
    assert "with the link h2-s1 down since" in result.detail
    failed = [text for text in result.evidence if "RETRY_EXC" in text]
    assert len(failed) == 4, "one for each worker: that it gave up follows"
    assert all("the queue pair" in text for text in failed)
