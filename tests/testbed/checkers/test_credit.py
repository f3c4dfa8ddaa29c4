"""Never more messages in flight than the window."""

from __future__ import annotations

import pytest

from testbed.checkers.credit import credit_bound
from testbed.faults.model import Corrupt, Kill, Window
from testbed.history.verdict import Verdict
from tests.support.judged import changed, good_context, matches, restarted, without
from tests.support.records import a_record, event_with, held
from workloads.events import MessagePosted

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


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
        i for i, r in enumerate(history) if r.name in kinds and r.node == "h2" and r.event.message >= message - 2
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
        record for record in context.history if matches(record, "MessageAcked", node="h2") and record.event.message > 0
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
    overrun = a_record(5, "s1", "PacketIgnored", ring_id=1, rank=1, message=4, offset=0, reason="overrun")  # fmt: skip
    assert credit_bound(changed(good, [*good.history, overrun])).verdict is FAIL
    reborn = good_context(Kill("kill-1", node="s1", window=Window(5, 9)))
    assert credit_bound(changed(reborn, [*reborn.history, overrun])).verdict is PASS
    elsewhere = good_context(Kill("kill-1", node="h1"))
    assert credit_bound(changed(elsewhere, [*elsewhere.history, overrun])).verdict is FAIL
    forged = good_context(Corrupt("corrupt-1", repair_icrc=True))
    assert credit_bound(changed(forged, [*forged.history, overrun])).verdict is PASS
    other = event_with(overrun, reason="duplicate")
    assert credit_bound(changed(good, [*good.history, other])).verdict is PASS


def test_nothing_posted(good):
    assert credit_bound(changed(good, without(good.history, "MessagePosted"))).verdict is UNKNOWN


def test_a_worker_that_starts_anew_starts_without_credit_used(good):
    at = next(n for n, r in enumerate(good.history) if isinstance(r.event, MessagePosted) and r.event.message == 2)
    again = restarted(good.history, "h1", at)
    assert credit_bound(changed(good, again)).verdict is Verdict.PASS
    without_death = [record for record in again if held(record, "status") != -9]
    assert credit_bound(changed(good, without_death)).verdict is Verdict.FAIL
