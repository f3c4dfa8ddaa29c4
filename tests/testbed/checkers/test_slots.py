"""No ring uses the slots of another."""

from __future__ import annotations

import pytest

from switch_nodes.events import SlotsAtEnd
from testbed.checkers.slots import slots_private
from testbed.history.verdict import Verdict
from tests.support.judged import altered, changed, without

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


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
    twice = [record for record in good.history if isinstance(record.event, SlotsAtEnd)]
    assert slots_private(changed(good, [*good.history, *twice])).verdict is FAIL
    assert slots_private(changed(good, without(good.history, "SlotsAtEnd"))).verdict is UNKNOWN
