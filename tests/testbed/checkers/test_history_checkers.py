"""Every checker that reads the history, with runs that pass, fail and leave it open."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import replace

import numpy as np
import pytest

from testbed.checkers.bit_exact import bit_exact
from testbed.checkers.context import CheckContext
from testbed.checkers.credit import credit_bound
from testbed.checkers.exactly_once import exactly_once
from testbed.checkers.exercised import faults_exercised
from testbed.checkers.fidelity import judge_fidelity
from testbed.checkers.liveness import liveness
from testbed.checkers.order import no_crash, no_leftovers
from testbed.checkers.slots import slots_private
from testbed.faults.model import Corrupt, Drop, Kill, Loss, Match, Pause, RateChange, Window
from testbed.plan import make_plan
from testbed.verdict import Verdict
from tests.support.judged import FakeSource, altered, good_context, good_totals, matches, without
from topologies import spine_leaf

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


@pytest.fixture
def good():
    return good_context()


def changed(context, history):
    return CheckContext(context.plan, list(history), context.captures)


def struck(fault, kind="loss", **fields):
    return {"t": 9, "node": "s1", "event": "FaultStruck", "fault": fault, "kind": kind, "backend": "user",
            "target": "h1-s1", "direction": "up", "flow": "", "opcode": 7, "psn": 0, "occurrence": 1, **fields}  # fmt: skip


def exact(context):
    return bit_exact(context, FakeSource)


# bit_exact


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
    extra = {"t": 10**9, "node": "h1", "event": "CollectiveCompleted", "iteration": 0, "sha256": "ff", "bytes": 4}
    assert exact(changed(good, [*good.history, extra])).verdict is FAIL


def test_missing_result(good):
    result = exact(changed(good, without(good.history, "CollectiveCompleted", node="h3", iteration=1)))
    assert result.verdict is UNKNOWN
    assert "h3 told no result of iteration 1" in result.detail
    assert exact(changed(good, without(good.history, "CollectiveCompleted"))).verdict is UNKNOWN


def test_a_wrong_sum_outweighs_a_missing_one(good):
    history = without(good.history, "CollectiveCompleted", node="h3")
    history = altered(history, "CollectiveCompleted", {"sha256": "00"}, node="h1", iteration=0)
    assert exact(changed(good, history)).verdict is FAIL


# exactly_once


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


# liveness


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
    plain = good_context(program="forward", collective="shift")
    assert liveness(changed(plain, without(plain.history, "SlotsAtEnd"))).verdict is PASS


def stalled(context, *more):
    """h3 never gets its last message, and gives up."""
    history = without(context.history, "WorkerFinished", node="h3")
    history = without(history, "MessageReceived", node="h3", message=4)
    return [*without(history, "CollectiveCompleted", node="h3", iteration=1), *more]


def test_stall_is_explained(good):
    qpn = good.plan.workers[2].to_successor.qpn
    failed = {"t": 2_500_000_000, "node": "h3", "event": "QpFailed", "qpn": qpn, "status": "RETRY_EXC", "psn": 7,
              "detail": "8 timeouts of 134 ms towards 10.77.0.2"}  # fmt: skip
    result = liveness(changed(good, stalled(good, failed)))
    assert result.verdict is FAIL
    assert result.detail == (
        f"1 of 3 workers did not finish; at 2.500 s the queue pair {qpn:#x} of h3 towards h1 failed with RETRY_EXC (it sent "
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
    limit = {"t": 60_000_000_000, "node": "world", "event": "TimeLimitReached", "limit_ns": 60_000_000_000,
             "unfinished": ["h3"]}  # fmt: skip
    result = liveness(changed(good, stalled(good, limit)))
    assert "the time limit of 60 s was reached, unfinished: h3" in result.detail
    gave_up = {"t": 10**9, "node": "h3", "event": "WorkerFailed", "reason": "bad_result", "detail": "rank 0"}
    assert "h3 gave up with bad_result: rank 0" in liveness(changed(good, stalled(good, gave_up, limit))).detail


# credit_bound


def test_credit_kept(good):
    result = credit_bound(good)
    assert (result.verdict, result.detail) == (
        PASS,
        "15 messages posted, never more than 1 of 2 in flight per worker",
    )


def early(context, message, event, kinds):
    """`message` is posted by h2 before anything of `kinds` about its predecessors came."""
    history = list(context.history)
    at = next(i for i, r in enumerate(history) if matches(r, event, node="h2", message=message))
    moved = history.pop(at)
    first = next(
        i for i, r in enumerate(history) if r["event"] in kinds and r["node"] == "h2" and r["message"] >= message - 2
    )
    return changed(context, [*history[:first], moved, *history[first:]])


def test_posted_beyond_the_window(good):
    result = credit_bound(early(good, 3, "MessagePosted", ("MessageReceived", "MessageAcked")))
    assert result.verdict is FAIL
    detail = "h2 posted message 3 with 1 results received and 1 messages acknowledged: the window is 2"
    assert detail in " ".join(result.evidence)


@pytest.mark.parametrize(("credit", "verdict"), [("both", FAIL), ("acked", FAIL), ("received", PASS)])
def test_which_credit_counts(credit, verdict):
    """The acknowledgements of h2 come too late."""
    context = good_context(credit=credit)
    late = [
        record for record in context.history if matches(record, "MessageAcked", node="h2") and record["message"] > 0
    ]
    rest = [record for record in context.history if record not in late]
    assert credit_bound(changed(context, rest + late)).verdict is verdict


def test_hello_first(good):
    history = list(good.history)
    at = next(i for i, r in enumerate(history) if matches(r, "MessageReceived", node="h2", message=0))
    moved = next(r for r in history if matches(r, "MessagePosted", node="h2", message=1))
    history.remove(moved)
    result = credit_bound(changed(good, [*history[:at], moved, *history[at:]]))
    assert result.verdict is FAIL
    assert "h2 posted message 1 before the result of the hello" in result.detail


def test_order_of_posting_and_overrun(good):
    assert credit_bound(changed(good, without(good.history, "MessagePosted", node="h1", message=2))).verdict is FAIL
    overrun = {"t": 5, "node": "s1", "event": "PacketIgnored", "ring_id": 1, "rank": 1, "message": 4, "offset": 0,
               "reason": "overrun"}  # fmt: skip
    assert credit_bound(changed(good, [*good.history, overrun])).verdict is FAIL
    reborn = good_context(Kill("kill-1", node="s1", window=Window(5, 9)))
    assert credit_bound(changed(reborn, [*reborn.history, overrun])).verdict is PASS
    elsewhere = good_context(Kill("kill-1", node="h1"))
    assert credit_bound(changed(elsewhere, [*elsewhere.history, overrun])).verdict is FAIL
    forged = good_context(Corrupt("corrupt-1", repair_icrc=True))
    assert credit_bound(changed(forged, [*forged.history, overrun])).verdict is PASS
    other = {**overrun, "reason": "duplicate"}
    assert credit_bound(changed(good, [*good.history, other])).verdict is PASS


def test_nothing_posted(good):
    assert credit_bound(changed(good, without(good.history, "MessagePosted"))).verdict is UNKNOWN


# slots_private


def test_own_slots(good):
    result = slots_private(good)
    assert (result.verdict, result.detail) == (
        PASS,
        "every ring kept to its own slots; most in use: ring 1 on s1: 6 of 12",
    )


@pytest.mark.parametrize(
    ("event", "change", "found"),
    [
        ("SlotsAtEnd", {"slots": 6}, "has 6 slots, 2 N L is 12"),
        ("SlotsAtEnd", {"peak_occupied": 13}, "used 13 slots, its own are 12"),
        ("SlotsAtEnd", {"ring_id": 2}, "ring 2, which is not installed there"),
        ("MessageAggregated", {"ring_id": 2}, "of ring 2, not installed there"),
        ("MessageAggregated", {"contributions": [3] * 6}, "summed 6 ranks into message"),
    ],
)
def test_foreign_slots(good, event, change, found):
    result = slots_private(changed(good, altered(good.history, event, change)))
    assert result.verdict is FAIL
    assert found in " ".join(result.evidence)


def test_slots_told_twice_or_not_at_all(good):
    twice = [record for record in good.history if record["event"] == "SlotsAtEnd"]
    assert slots_private(changed(good, [*good.history, *twice])).verdict is FAIL
    assert slots_private(changed(good, without(good.history, "SlotsAtEnd"))).verdict is UNKNOWN


# faults_exercised


def test_no_fault_asked_for(good):
    assert faults_exercised(good).verdict is PASS


def test_every_fault_must_strike():
    faults = (
        Loss("loss-1", links=("h1-s1",), rate=0.01),
        RateChange("slow", links=("h1-s1",), rate_bps=10**6),
        Kill("kill-1", node="s1"),
        Pause("pause-1", node="h1"),
    )
    context = good_context(*faults)
    all_of_them = [struck(fault.name) for fault in faults]
    result = faults_exercised(changed(context, [*context.history, *all_of_them, struck("loss-1")]))
    assert (result.verdict, result.detail) == (
        PASS,
        "every fault struck: loss-1 2x, slow 1x, kill-1 1x, pause-1 1x",
    )
    for missing in range(4):
        some = [record for record in all_of_them if record["fault"] != faults[missing].name]
        result = faults_exercised(changed(context, [*context.history, *some]))
        assert result.verdict is UNKNOWN
        assert f"{faults[missing].name} never struck" in result.detail


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Loss("f", rate=0.01), "at a rate of 0.01 too few packets matched"),
        (Drop("f", match=Match(message=99)), "no packet matched its conditions"),
        (Drop("f", window=Window(start_ns=10**12)), "it starts at 1000 s and the run ended at 0.008 s"),
        (Drop("f"), "no packet crossed its links while it was active"),
        (Pause("f", node="h1"), "the world did not carry it out"),
    ],
)
def test_why_a_fault_did_not_strike(fault, why):
    assert why in faults_exercised(good_context(fault)).detail


# no_crash, no_leftovers


def test_crash(good):
    assert no_crash(good).verdict is PASS
    crash = {"t": 10**9, "node": "s1", "event": "NodeExited", "status": -11, "expected": False, "output": "boom\n"}
    result = no_crash(changed(good, [*good.history, crash]))
    assert result.verdict is FAIL
    assert result.detail == "s1 was killed by signal 11 at 1.000 s"
    assert result.evidence[0].endswith("boom")
    assert no_crash(changed(good, [*good.history, {**crash, "expected": True}])).verdict is PASS
    assert no_crash(changed(good, without(good.history, "NodeStarted"))).verdict is UNKNOWN


def test_leftovers(good):
    assert no_leftovers(good).verdict is PASS
    left = {"t": 10**9, "node": "world", "event": "LeftoversFound", "items": ["namespace x", "link y"]}
    result = no_leftovers(changed(good, [*good.history, left]))
    assert result.verdict is FAIL
    assert "namespace x" in result.detail
    assert no_leftovers(changed(good, [*good.history, {**left, "items": []}])).verdict is PASS
    assert no_leftovers(changed(good, [])).verdict is UNKNOWN


# fidelity


def test_machine_kept_up(good):
    result = judge_fidelity(good)
    assert result.verdict is PASS
    assert "lag at most 0.20 ms" in result.detail


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"socket_drops": 3}, "h2: the kernel dropped 3 frames"),
        ({"cpu_ns": 950_000_000}, "h2: its process used 95% of a CPU"),
        ({"lag_p99_ns": 7_500_000}, "h2: deadlines were handled 7.5 ms late"),
        ({"queue_drops": 4}, "h2: its egress queues refused 4 frames"),
        ({"waited_ns": 100_000_000}, "h2: waited 3.3 ms for a CPU each time, the limit is 2.5 ms"),
    ],
)
def test_machine_did_not_keep_up(good, change, found):
    result = judge_fidelity(changed(good, altered(good.history, "PlaneStatistics", change, node="h2")))
    assert result.verdict is UNKNOWN
    assert found in result.evidence[0]
    assert found in result.detail


def test_few_turns_say_nothing(good):
    change = {"waited_ns": 100_000_000, "turns": 19}
    assert judge_fidelity(changed(good, altered(good.history, "PlaneStatistics", change, node="h2"))).verdict is PASS


def test_shaping():
    context = good_context()
    shaped = {"t": 1, "node": "world", "event": "ShapingMeasured", "link": "h1-s1", "direction": "up",
              "rate_bps": 100_000_000, "bytes": 12_500_000, "busy_ns": 1_000_000_000, "drops": 0}  # fmt: skip

    def judged(plan_context, **change):
        return judge_fidelity(changed(plan_context, [*plan_context.history, {**shaped, **change}]))

    assert judged(context).verdict is PASS
    assert judged(context, bytes=100).verdict is PASS
    assert "h1-s1 up: the shaper let 10% more through" in judged(context, bytes=13_750_000).detail
    assert "dropped 5 frames" in judged(context, drops=5).detail
    slowed = good_context(RateChange("slow", links=("h1-s1",), rate_bps=10**6))
    assert judged(slowed, drops=5).verdict is PASS


def test_queue_drops_that_a_rate_change_asked_for():
    slowed = good_context(RateChange("slow", links=("h1-s1",), rate_bps=10**6))
    history = altered(slowed.history, "PlaneStatistics", {"queue_drops": 4}, node="s1")
    assert judge_fidelity(changed(slowed, history)).verdict is PASS


def test_queue_drops_where_the_scenario_sends_more_than_a_link_takes():
    rack_context = good_context(collective="ring", program="forward")
    shape = rack_context.plan.scenario.link
    slow = replace(shape, rate_bps=shape.rate_bps // 4)
    plan = make_plan(replace(rack_context.plan.scenario, topology=spine_leaf([2, 1], 1, shape, slow)))
    shaped = {"t": 1, "node": "world", "event": "ShapingMeasured", "rate_bps": 25_000_000, "bytes": 100, "drops": 5,
              "busy_ns": 1_000_000_000}  # fmt: skip

    def judged(link, direction):
        history = [*rack_context.history, {**shaped, "link": link, "direction": direction}]
        return judge_fidelity(CheckContext(plan, history)).verdict

    assert judged("leaf1-spine1", "up") is judged("leaf2-spine1", "down") is PASS
    assert judged("h1-leaf1", "up") is judged("h3-leaf2", "down") is UNKNOWN
    for node, verdict in (("leaf1", PASS), ("h1", UNKNOWN)):
        refused = [{**record, "node": node, "queue_drops": 4} for record in rack_context.history
                   if record["event"] == "PlaneStatistics"][:1]  # fmt: skip
        assert judge_fidelity(CheckContext(plan, [*rack_context.history, *refused])).verdict is verdict


def test_virtual_time_and_silence(good):
    assert judge_fidelity(changed(good, without(good.history, "PlaneStatistics"))).verdict is UNKNOWN
    virtual = altered(without(good.history, "PlaneStatistics"), "NodeStarted", {"backend": "virtual"})
    assert judge_fidelity(changed(good, virtual)).verdict is PASS


def restarted(history, node, at):
    """The history, with `node` starting anew before the record `at`, and all that it told before told again behind it."""
    before = [record for record in history[:at] if record["node"] == node]
    life = {"t": history[at]["t"], "node": node, "event": "NodeExited", "status": -9, "expected": True, "output": ""}
    return [*history[:at], life, *before, *history[at:]]


def test_a_switch_that_starts_anew_may_sum_again(good):
    at = max(n for n, record in enumerate(good.history) if record["event"] == "MessageAggregated")
    again = restarted(good.history, "s1", at)
    assert exactly_once(changed(good, again)).verdict is Verdict.PASS
    without_death = [record for record in again if record.get("status") != -9]
    assert exactly_once(changed(good, without_death)).verdict is Verdict.FAIL


def test_a_worker_that_starts_anew_starts_without_credit_used(good):
    at = next(n for n, r in enumerate(good.history) if r["event"] == "MessagePosted" and r["message"] == 2)
    again = restarted(good.history, "h1", at)
    assert credit_bound(changed(good, again)).verdict is Verdict.PASS
    without_death = [record for record in again if record.get("status") != -9]
    assert credit_bound(changed(good, without_death)).verdict is Verdict.FAIL
