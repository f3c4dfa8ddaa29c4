"""Traced queue pairs tell every step of their tables, in order, and do nothing else than untraced ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.rc_pair import QPN, RcPair, pattern
from workloads.events import QpStepped
from workloads.machine import FrameBatch
from workloads.rc import RcEndpoint, go_back_n, responder
from workloads.rc.requester_table import REQUESTER_TABLE, RequesterEvent, RequesterState
from workloads.rc.responder_table import RESPONDER_TABLE, ResponderEvent, ResponderState


class Spy(dict[Any, Any]):
    """A table that notes what it is asked."""

    def __init__(self, table: dict[Any, Any]) -> None:
        super().__init__(table)
        self.asked: list[tuple[Any, Any]] = []

    def __getitem__(self, key: Any) -> Any:
        self.asked.append(key)
        return super().__getitem__(key)


def lossy(pair: RcPair) -> None:
    pair.drop_psn(pair.psn(3))
    pair.drop_psn(pair.psn(9), times=2)
    pair.drop_kind("b", "nak")


def no_receive(pair: RcPair) -> None:
    pair.post_receives(1)
    pair.at(5_000_000, lambda: pair.post_receives(3, first=1))


def dead(pair: RcPair) -> None:
    pair.drop("a", *range(3, 100))


def drive(prepare: Callable[[RcPair], None], **settings: Any) -> RcPair:
    pair = RcPair(retry_count=2, ack_every=4, **settings)
    prepare(pair)
    if prepare is not no_receive:
        pair.post_receives(4)
    for wr_id in range(4):
        pair.send(pattern(1500, wr_id), wr_id=wr_id)
    pair.run()
    return pair


CASES = pytest.mark.parametrize("prepare", [lossy, no_receive, dead])


@CASES
def test_tracing_changes_nothing_but_what_is_told(prepare: Callable[[RcPair], None]) -> None:
    plain, traced = drive(prepare), drive(prepare, trace=True)
    assert traced.sent == plain.sent
    assert traced.completions == plain.completions
    for side in "ab":
        assert not any(isinstance(event, QpStepped) for event in plain.events[side])
        assert [event for event in traced.events[side] if not isinstance(event, QpStepped)] == plain.events[side]
        assert any(isinstance(event, QpStepped) for event in traced.events[side])


def steps(pair: RcPair, end: str, side: str) -> list[QpStepped]:
    return [event for event in pair.events_of(QpStepped, end) if event.side == side]


@CASES
def test_every_look_of_the_requester_is_told_in_order(
    prepare: Callable[[RcPair], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = Spy(REQUESTER_TABLE)
    monkeypatch.setattr(go_back_n, "REQUESTER_TABLE", spy)
    told = steps(drive(prepare, trace=True), "a", "requester")
    assert [(RequesterState[s.state.upper()], RequesterEvent[s.cause.upper()]) for s in told] == spy.asked
    assert [RequesterState[s.next.upper()] for s in told] == [REQUESTER_TABLE[pair].state for pair in spy.asked]
    assert {s.qpn for s in told} == {QPN["a"]}


@CASES
def test_every_request_is_a_step_of_the_responder(
    prepare: Callable[[RcPair], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[int] = []
    take = responder.Responder.on_request

    def note(self: responder.Responder, packet: Any) -> None:
        take(self, packet)
        came.append(self.expected)

    monkeypatch.setattr(responder.Responder, "on_request", note)
    told = steps(drive(prepare, trace=True), "b", "responder")
    assert [s.psn for s in told] == came
    for step in told:
        pair = ResponderState[step.state.upper()], ResponderEvent[step.cause.upper()]
        assert RESPONDER_TABLE[pair].state.name.lower() == step.next
    assert [s.next for s in told[:-1]] == [s.state for s in told[1:]]


def test_a_requester_tells_its_oldest_unacknowledged_psn_in_24_bits() -> None:
    pair = RcPair(trace=True, psn=0xFFFFFE)
    pair.post_receives(1)
    pair.send(pattern(1000))
    pair.run()
    told = steps(pair, "a", "requester")
    assert [(s.state, s.cause, s.next, s.psn) for s in told] == [
        ("idle", "post", "sending", 0xFFFFFE),
        ("sending", "ack_all", "idle", 2),
    ]


def test_an_endpoint_with_a_traced_queue_pair_takes_the_reference() -> None:
    """The compiled path would tell no steps: batches of frames must tell the same ones as single frames."""
    pair = drive(lossy, trace=True)
    b = RcEndpoint()
    b.add_qp(pair.config["b"])
    receives = RcPair(trace=True)
    receives.ends["b"] = b
    receives.post_receives(4)
    batch = FrameBatch.of(len(pair.sent), 2048)
    for sent in pair.data():
        batch.append(0, sent.frame)
    b.receive_batch(batch, 0)
    told = 0
    while (event := b.next_event()) is not None:
        told += isinstance(event, QpStepped)
    assert told == batch.count
