"""Captures at the interfaces of hosts: what came out of the network that never went in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from testbed.captures.pcapng import CapturedFrame
from testbed.checkers.context import CheckContext
from testbed.checkers.transparency import transparency
from testbed.history.verdict import CheckResult, Verdict
from tests.support.judged import Frames, Step, edited, good_capture, good_history, index_of, inserted, small_plan
from tests.support.records import a_record
from workloads.wire import decode_packet, encode_packet, psn_add, replace_payload

PLAN = small_plan()


class AtHost:
    """A `Capture` at the interface of the host behind port `port`."""

    def __init__(self, host: str, port: int, steps: Sequence[Step]) -> None:
        self.name = self.switch = host
        self._frames = [
            CapturedFrame(0, number, not step.outgoing, step.frame, "")
            for number, step in enumerate(steps)
            if step.port == port
        ]

    def read(self):  # type: ignore[no-untyped-def]
        for frame in self._frames:
            yield f"{self.name}-d0", frame


def _judged(steps: Sequence[Step], *, hosts: int = 3, history=None) -> CheckResult:  # type: ignore[no-untyped-def]
    captures = tuple(AtHost(f"h{port + 1}", port, steps) for port in range(hosts))
    return transparency(CheckContext(PLAN, good_history(PLAN) if history is None else history, captures))


def _broken(steps: Sequence[Step], rule: int) -> str:
    result = _judged(steps)
    assert result.verdict is Verdict.FAIL, result
    assert result.evidence[0].startswith(f"rule {rule} "), result.evidence
    return result.detail


def test_a_good_run() -> None:
    result = _judged(good_capture(PLAN))
    assert (result.verdict, result.detail) == (
        Verdict.PASS,
        (
            "96 frames at 3 hosts: 33 data packets arrived with the headers that a host sent and a valid iCRC; "
            "15 answers arrived, each sent by a host"
        ),
    )
    assert [text.split(":")[0] for text in result.evidence] == ["rule 1", "rule 6", "rule 7", "rule 8"]


def test_what_is_lost_on_a_cable_breaks_no_rule() -> None:
    steps = good_capture(PLAN)
    del steps[index_of(steps, "result", 1, 4)]
    assert _judged(steps).verdict is Verdict.PASS


def test_the_order_between_hosts_says_nothing() -> None:
    """Their clocks differ: a result may seem to be older than what it is made of."""
    steps = good_capture(PLAN)
    results = [step for step in steps if step.outgoing]
    assert _judged([*results, *(step for step in steps if not step.outgoing)]).verdict is Verdict.PASS


def _with(frame: bytes, **fields: int) -> bytes:
    packet = decode_packet(frame)
    assert packet is not None
    return encode_packet(replace(packet, bth=replace(packet.bth, **fields)))


@pytest.mark.parametrize(("offset", "away"), [(4, 1), (10, 1), (10, 1000)])
def test_a_changed_psn_is_found(offset: int, away: int) -> None:
    """Onto another packet of the connection, or onto none."""

    def change(frame: bytes) -> bytes:
        packet = decode_packet(frame)
        assert packet is not None
        return _with(frame, psn=psn_add(packet.bth.psn, away))

    steps = good_capture(PLAN)
    at = index_of(steps, "result", 1, offset)
    assert "entering h3 on h3-d0" in _broken(edited(steps, at, change), 7)


def test_a_changed_qpn_is_found() -> None:
    steps = good_capture(PLAN)
    at = index_of(steps, "result", 0, 4)
    assert "no packet of this connection and PSN entered" in _broken(
        edited(steps, at, lambda frame: _with(frame, dest_qpn=0x999)), 7
    )


def test_an_answer_of_the_cards_own_is_found() -> None:
    steps = good_capture(PLAN)
    at = index_of(steps, "ack", 0, 0, outgoing=True)
    own = Frames(PLAN).answer(0, 9, msn=77)
    assert "no ACKNOWLEDGE with these bytes entered" in _broken(
        inserted(steps, at, Step(True, 0, own, ("own", 0, 0))), 6
    )
    twice = inserted(steps, at, steps[at])
    assert "left 2 times and entered 1 times" in _broken(twice, 6)


@pytest.mark.parametrize("outgoing", [False, True])
def test_a_wrong_icrc_is_found(outgoing: bool) -> None:
    steps = good_capture(PLAN)
    at = index_of(steps, "result" if outgoing else "data", 0, 4)
    result = _judged(edited(steps, at, lambda frame: frame[:-1] + bytes((frame[-1] ^ 1,))))
    assert result.verdict is Verdict.FAIL
    assert "rule 1" in result.detail
    assert "its iCRC is wrong" in result.detail


def test_two_results_of_one_packet_are_found() -> None:
    steps = good_capture(PLAN)
    data, at = index_of(steps, "data", 0, 4), index_of(steps, "result", 0, 4)
    other = Step(True, 1, replace_payload(steps[at].frame, b"\1", 20), ("result", 0, 4))
    again = inserted(inserted(steps, data, steps[data]), at + 2, other)
    assert "another payload left here" in _broken(again, 8)


def test_what_is_not_there_is_not_judged() -> None:
    steps = good_capture(PLAN)
    result = _judged(steps, hosts=2)
    assert (result.verdict, result.detail) == (Verdict.UNKNOWN, "the capture at the interface of h3 is missing")
    cut = [*good_history(PLAN), a_record(9, "h2", "CaptureCut", limit_bytes=5)]
    result = _judged(steps, history=cut)
    assert (result.verdict, result.detail) == (Verdict.UNKNOWN, "the capture at the interface of h2 reached its limit")
    assert _judged([]).verdict is Verdict.UNKNOWN
