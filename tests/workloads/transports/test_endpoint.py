"""Endpoints of all transports with connections, by the interface that they share."""

from __future__ import annotations

import pytest

from workloads.config import QpConfig
from workloads.rc.transport import RELIABLE
from workloads.transports.endpoint import ConnectedTransport, Endpoint
from workloads.transports.messages import SendRequest
from workloads.uc.transport import UNRELIABLE
from workloads.wire import Envelope

HERE, THERE, ELSEWHERE = (bytes((10, 0, 0, number)) for number in (1, 2, 3))
OUT = Envelope(b"\x02aaaaa", b"\x02bbbbb", HERE, THERE, 50_000)
BACK = Envelope(b"\x02bbbbb", b"\x02aaaaa", THERE, HERE, 50_001)
WRITE = SendRequest(7, (b"abcd", bytes(2000)), 0x1234, 0x7000, 0x55)


def ends(transport: ConnectedTransport) -> tuple[Endpoint[object], Endpoint[object]]:
    one = transport.endpoint([QpConfig(0x11, 0x22, OUT, 5, 9)])
    return one, transport.endpoint([QpConfig(0x22, 0x11, BACK, 9, 5)])


def given(end: Endpoint[object]) -> list[bytes]:
    frames = []
    while (frame := end.next_frame(0)) is not None:
        frames.append(frame)
    return frames


@pytest.mark.parametrize("transport", [RELIABLE, UNRELIABLE], ids=lambda transport: transport.name)
def test_a_message_leaves_in_frames_that_the_transport_knows(transport: ConnectedTransport) -> None:
    one, _ = ends(transport)
    one.post_send(0x11, WRITE, 0)
    frames = given(one)
    assert len(frames) == 2
    found = [transport.identify(frame) for frame in frames]
    assert [each.sequence for each in found if each] == [5, 6]
    assert {each.flow for each in found if each} == {"10.0.0.1>10.0.0.2:34"}
    assert not given(one)


@pytest.mark.parametrize("transport", [RELIABLE, UNRELIABLE], ids=lambda transport: transport.name)
def test_an_endpoint_ignores_frames_for_others_and_reports_what_it_drops(transport: ConnectedTransport) -> None:
    one, other = ends(transport)
    one.post_send(0x11, WRITE, 0)
    first, _ = given(one)
    target = transport.endpoint([QpConfig(0x33, 1, Envelope(b"\x02ccccc", b"\x02aaaaa", ELSEWHERE, HERE), 0, 0)])
    for end, frame in ((target, first), (other, b"no frame at all"), (other, bytes(90))):
        end.receive_frame(0, frame, 0)
        assert not end.has_news
    other.receive_frame(0, first[:50], 0)
    assert other.has_news
    assert type(other.next_event()).__name__ == "FrameRejected"
    assert other.next_event() is None
    assert not other.has_news


@pytest.mark.parametrize("transport", [RELIABLE, UNRELIABLE], ids=lambda transport: transport.name)
def test_numbers_of_queue_pairs_are_taken_once_and_must_be_known(transport: ConnectedTransport) -> None:
    one, _ = ends(transport)
    with pytest.raises(ValueError, match="QP 0x11 exists already"):
        one.add_qps([QpConfig(0x11, 1, OUT, 0, 0)])
    with pytest.raises(KeyError):
        one.post_send(0x12, WRITE, 0)


def test_only_the_reliable_one_has_timers_and_statistics() -> None:
    assert {transport.name: has_timer(transport) for transport in (RELIABLE, UNRELIABLE)} == {"rc": True, "uc": False}
    assert [
        len(tuple(transport.endpoint([QpConfig(1, 2, OUT, 0, 0)]).statistics())) for transport in (RELIABLE, UNRELIABLE)
    ] == [1, 0]


def has_timer(transport: ConnectedTransport) -> bool:
    one, _ = ends(transport)
    one.post_send(0x11, WRITE, 0)
    given(one)
    return one.get_timer() is not None


def test_compiled_code_holds_what_has_batches_and_ipv4() -> None:
    pair = QpConfig(0x11, 0x22, OUT, 5, 9)
    assert RELIABLE.endpoint([pair], batches=False).hold() is None
    six = Envelope(b"\x02aaaaa", b"\x02bbbbb", bytes(16), bytes(15) + b"\1")
    assert RELIABLE.endpoint([QpConfig(0x11, 0x22, six, 5, 9)]).hold() is None
