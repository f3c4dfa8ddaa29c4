"""A transport of the user's own chooses its timer, and is held to what it may return."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from testbed.scenario.own_transport import own_transport
from workloads.errors import ScenarioError
from workloads.machine import Buffer
from workloads.transports import SentAs, TransportKind
from workloads.transports.timing import RoundTrip, TimerKey, TimerNeed

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


class Wrapping(Slow):
    """Its numbers begin again, its answers are short, and it has a timer of another name."""

    def __init__(self, **found: object) -> None:
        super().__init__()
        self.found = found

    def timer_keys(self, *, resends_alone: bool = False) -> tuple[TimerKey, ...]:
        return self.found.get("timer_keys", (TimerKey("timeout", "timeout_code", is_code=True),))  # type: ignore[return-value]

    def timer_values(self, need: TimerNeed) -> Mapping[str, int]:
        return {"timeout_code": 9}

    def span_of(self, code: int, /) -> int:
        return self.found.get("span_of", code * 1_000)  # type: ignore[return-value]

    def answer_bytes(self, frame_bytes: int, /) -> int:
        return self.found.get("answer_bytes", 64)  # type: ignore[return-value]

    def after(self, sequence: int, count: int, /) -> int:
        return self.found.get("after", (sequence + count) % 16)  # type: ignore[return-value]

    def distance(self, sequence: int, other: int, /) -> int:
        return self.found.get("distance", (sequence - other + 8) % 16 - 8)  # type: ignore[return-value]

    def kind_name(self, number: int, /) -> str:
        return self.found.get("kind_name", "parcel")  # type: ignore[return-value]

    def describe(self, frame: Buffer) -> str:
        return self.found.get("describe", "a parcel")  # type: ignore[return-value]


CALLS = {
    "timer_keys": (), "span_of": (9,), "answer_bytes": (1500,), "after": (15, 2), "distance": (1, 15),
    "kind_name": (3,), "describe": (b"",),
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("span_of", 9_000),
        ("answer_bytes", 64),
        ("after", 1),
        ("distance", 2),
        ("kind_name", "parcel"),
        ("describe", "a parcel"),
    ],
)
def test_its_own_methods_are_asked(method: str, answer: object) -> None:
    assert getattr(own_transport(Wrapping(), "mine.py:SLOW"), method)(*CALLS[method]) == answer


def test_its_timers_have_the_values_that_it_gives() -> None:
    watched = own_transport(Wrapping(), "mine.py:SLOW")
    assert [timer.key for timer in watched.timer_keys()] == ["timeout"]
    assert watched.timer_values(NEED) == {"timeout_code": 9}


@pytest.mark.parametrize(
    ("method", "found", "allowed"),
    [
        ("timer_keys", (TimerKey("nap", "nap_ns"),), "a tuple of TimerKeys with fields of the section `transport`"),
        ("timer_keys", ["rto"], "a tuple of TimerKeys"), ("span_of", 1.5, "a whole number"),
        ("answer_bytes", "many", "a whole number"), ("after", None, "a whole number"),
        ("distance", 0.5, "a whole number"), ("kind_name", 3, "a text"), ("describe", b"", "a text"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_refused(method: str, found: object, allowed: str) -> None:
    with pytest.raises(ScenarioError, match=f"allowed: {allowed}"):
        getattr(own_transport(Wrapping(**{method: found}), "mine.py:SLOW"), method)(*CALLS[method])
