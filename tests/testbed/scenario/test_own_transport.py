"""A transport of the user's own chooses its timer, and is held to what it may return."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from testbed.scenario.own_transport import own_transport
from workloads.errors import ScenarioError
from workloads.machine import Buffer
from workloads.transports import SentAs, TransportKind
from workloads.transports.timing import RoundTrip, TimerNeed

NEED = TimerNeed(RoundTrip(empty_ns=50_000))


class Slow(TransportKind):
    name, summary = "slow", "waits"

    def __init__(self, rto: object = None) -> None:
        self.rto = rto

    def identify(self, frame: Buffer) -> SentAs | None:
        return None

    def timer_values(self, need: TimerNeed) -> Mapping[str, int]:
        values = super().timer_values(need)
        return values if self.rto is None else {"rto_ns": self.rto}  # type: ignore[dict-item]


def test_its_own_timer_is_used() -> None:
    assert own_transport(Slow(), "mine.py:SLOW").timer_values(NEED) == {"rto_ns": 100_000}
    assert own_transport(Slow(7), "mine.py:SLOW").timer_values(NEED) == {"rto_ns": 7}


@pytest.mark.parametrize("rto", [0, -1, 1.5, True, "soon"])
def test_a_wrong_timer_is_refused(rto: object) -> None:
    with pytest.raises(ScenarioError, match="allowed: `rto_ns` and a whole number above 0"):
        own_transport(Slow(rto), "mine.py:SLOW").timer_values(NEED)
