"""No node ends unasked, and nothing is left."""

from __future__ import annotations

from testbed.checkers.order import no_crash, no_leftovers
from testbed.history.verdict import Verdict
from tests.support.judged import changed, without
from tests.support.records import a_record, event_with

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


def test_crash(good):
    assert no_crash(good).verdict is PASS
    crash = a_record(10**9, "s1", "NodeExited", status=-11, expected=False, output="boom\n")
    result = no_crash(changed(good, [*good.history, crash]))
    assert result.verdict is FAIL
    assert result.detail == "s1 was killed by signal 11 at 1 s"
    assert result.evidence[0].endswith("boom")
    assert no_crash(changed(good, [*good.history, event_with(crash, expected=True)])).verdict is PASS
    assert no_crash(changed(good, without(good.history, "NodeStarted"))).verdict is UNKNOWN


def test_leftovers(good):
    assert no_leftovers(good).verdict is PASS
    left = a_record(10**9, "world", "LeftoversFound", items=["namespace x", "link y"])
    result = no_leftovers(changed(good, [*good.history, left]))
    assert result.verdict is FAIL
    assert "namespace x" in result.detail
    assert no_leftovers(changed(good, [*good.history, event_with(left, items=[])])).verdict is PASS
    assert no_leftovers(changed(good, [])).verdict is UNKNOWN
