"""When an endpoint may be handed to compiled code. What that does with it: tests of the simulator's compiled loop."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from testbed.worlds.simulated.native.library import load_core
from tests.support.native import needs_native
from tests.support.rc_pair import BASE_VA, MTU, RKEY, ipv6, pair_configs, pattern
from workloads.config import QpConfig
from workloads.events import NakSent, QpFailed, Retransmission, RnrNakSent
from workloads.machine import Event
from workloads.rc import RcEndpoint, ReceiveRequest, SendRequest
from workloads.rc.answers import Answer
from workloads.rc.compiled import CompiledPair
from workloads.rc.native_endpoint import ENDPOINT_IRN_AT, NativeRcEndpoint
from workloads.rc.requester_table import RequesterState
from workloads.wire import decode_packet, encode_packet

needs_c = needs_native("rc_fast")
DONE, NO_ROOM = 0, 4
"""`enum rc_endpoint_outcome`"""


def endpoint() -> RcEndpoint:
    config, _ = pair_configs()
    end = RcEndpoint()
    end.add_qp(config)
    end.add_qp(replace(config, qpn=config.qpn + 1))
    return end


@needs_c
def test_what_nobody_touched_comes_back_as_it_was() -> None:
    end = endpoint()
    first, second = end.queue_pairs
    end.post_send(first.config.qpn, SendRequest(1, (pattern(5000, 1),), 7), 0)
    second.responder.answers.extend([Answer(5, 0x1F, 3), Answer(9, 0x60, 4)])
    before = [(CompiledPair(qp).standing(), list(qp.responder.answers), qp.statistics()) for qp in end.queue_pairs]
    held = end.hold()
    assert held is not None
    assert held.offer(None)
    assert held.held
    held.take_back(0)
    assert not held.held
    assert before == [
        (CompiledPair(qp).standing(), list(qp.responder.answers), qp.statistics()) for qp in end.queue_pairs
    ]


@needs_c
def test_only_one_queue_pair_may_have_something_to_send() -> None:
    end = endpoint()
    held = end.hold()
    assert held is not None
    for qp, expected in zip(end.queue_pairs, (True, False), strict=True):
        end.post_send(qp.config.qpn, SendRequest(1, (pattern(100, 1),), 7), 0)
        assert held.offer(None) is expected
        if expected:
            held.take_back(0)


@needs_c
def test_too_many_answers_wait() -> None:
    end = endpoint()
    held = end.hold()
    assert held is not None
    answers = end.queue_pairs[1].responder.answers
    answers.extend([Answer(5, 0x1F, 3)] * 128)
    assert held.offer(None)
    held.take_back(0)
    answers.append(Answer(5, 0x1F, 3))
    end.queue_pairs[1].touch()
    assert not held.offer(None)


def test_ipv6_stays_with_the_reference() -> None:
    end = RcEndpoint()
    end.add_qp(ipv6(pair_configs()[0]))
    assert end.hold() is None


@needs_native("simulator")
@pytest.mark.parametrize("answers", [0, 1])
@pytest.mark.parametrize("size", [1, 1021, 1024, 1025, 4096])
def test_no_frame_is_written_past_its_room(size: int, answers: int) -> None:
    library = load_core()
    assert library is not None
    pull: Any = library.rc_endpoint_pull
    pull.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64]
    first, reference = endpoint(), endpoint()
    for end in (first, reference):
        qp = end.queue_pairs[0]
        end.post_send(qp.config.qpn, SendRequest(1, (pattern(size, 1),), 7), 0)
        qp.responder.answers.extend([Answer(5, 0x1F, 3)] * answers)
    expected = [bytes(frame) for _, frame in reference.frames_to_send(0)]
    held = first.hold()
    assert held is not None
    assert held.offer(None)
    for frame in expected:
        octets, length = ctypes.create_string_buffer(8192), ctypes.c_int32(0)
        arguments = held.address, octets, len(frame) - 1, ctypes.byref(length), 0
        assert pull(*arguments) == NO_ROOM
        assert octets.raw == bytes(8192)
        assert pull(held.address, octets, len(frame), ctypes.byref(length), 0) == DONE
        assert octets.raw[: length.value] == frame


NEWS, PYTHON = 3, 2
GAP, WENT_BACK = 1, 2
"""`enum rc_endpoint_kind`"""


class Driven:
    """An endpoint in compiled code, and the same one by its verbs."""

    def __init__(self, config: QpConfig) -> None:
        library = load_core()
        assert library is not None
        self._receive: Any = library.rc_endpoint_receive
        self._receive.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64]
        self._pull: Any = library.rc_endpoint_pull
        self._pull.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64]
        self.ends = [RcEndpoint(), RcEndpoint()]
        self.memory = [bytearray(1 << 14), bytearray(1 << 14)]
        for end, memory in zip(self.ends, self.memory, strict=True):
            end.add_qp(config)
            end.register_memory(RKEY, BASE_VA, memoryview(memory))
        found = self.ends[0].hold()
        assert found is not None
        self.held = found

    def post(self, size: int) -> None:
        for end in self.ends:
            end.post_send(end.queue_pairs[0].config.qpn, SendRequest(1, (pattern(size, 1),), 7, BASE_VA, RKEY), 0)

    def offer(self, *, quiet: bool = False) -> None:
        assert self.held.offer(None, quiet=quiet)

    def hear(self, frame: bytes, now: int) -> int:
        """What compiled code made of it; if nothing, Python does it there, too."""
        outcome = int(self._receive(self.held.address, frame, len(frame), now))
        if outcome == PYTHON:
            self.held.take_back(now)
            self.ends[0].receive_frame(0, frame, now)
            self.offer()
        else:
            assert isinstance(self.held, NativeRcEndpoint)
            kind, *entry = struct.unpack_from("=4q", self.held._memory, ENDPOINT_IRN_AT - 32)
            if kind:
                self.held.tell(kind, *entry)
        self.ends[1].receive_frame(0, frame, now)
        return outcome

    def frames(self, count: int, now: int) -> list[bytes]:
        """Both send the same."""
        reference = [bytes(frame) for _, frame in islice(self.ends[1].frames_to_send(now), count)]
        octets, length = ctypes.create_string_buffer(8192), ctypes.c_int32(0)
        for frame in reference:
            assert self._pull(self.held.address, octets, 8192, ctypes.byref(length), now) == DONE
            assert octets.raw[: length.value] == frame
        return reference

    def same(self, now: int = 0) -> list[Event]:
        """They are the same, to their events, which come back."""
        self.held.take_back(now)
        pairs = [CompiledPair(end.queue_pairs[0]) for end in self.ends]
        states = [
            (pair.standing(), pair.sender.state, pair.responder.state, list(pair.responder.answers), end.statistics())
            for pair, end in zip(pairs, self.ends, strict=True)
        ]
        assert self.ends[0].get_timer() == self.ends[1].get_timer()
        assert states[0] == states[1]
        assert self.memory[0] == self.memory[1]
        told = [list(iter(end.next_event, None)) for end in self.ends]
        done = [list(iter(end.next_completion, None)) for end in self.ends]
        assert done[0] == done[1]
        assert told[0] == told[1]
        self.offer()
        return told[0]


def peers(**overrides: Any) -> tuple[Driven, Driven]:
    """A sender and a receiver."""
    first, second = pair_configs(**overrides)
    return Driven(first), Driven(second)


@needs_native("simulator")
def test_gaps_and_naks_need_no_python() -> None:
    sender, receiver = peers()
    sender.post(20 * MTU)
    sender.offer()
    receiver.offer()
    frames = sender.frames(20, 5)
    assert [receiver.hear(frame, 7) for frame in frames[2:4]] == [DONE, DONE]
    (nak,) = receiver.frames(9, 8)
    assert [type(event) for event in receiver.same()] == [NakSent]
    assert sender.hear(nak, 9) == DONE
    assert sender.hear(nak, 10) == DONE  # ignored: it went back already
    assert [type(event) for event in sender.same()] == [Retransmission]
    again = sender.frames(4, 11)
    assert again[:2] == frames[:2]
    assert sender.same() == []
    assert [receiver.hear(frame, 12) for frame in (frames[0], frames[1], frames[3])] == [DONE] * 3
    nak = receiver.frames(9, 13)[-1]
    assert [event.psn for event in receiver.same() if isinstance(event, NakSent)] == [2]
    assert sender.hear(nak, 14) == DONE  # acknowledges two packets
    assert [event.psn for event in sender.same() if isinstance(event, Retransmission)] == [2]
    assert sender.frames(1, 15) == [frames[2]]
    assert sender.hear(nak, 16) == DONE
    sender.same()
    receiver.hear(frames[1], 17)  # a duplicate
    receiver.same()


@needs_native("simulator")
@pytest.mark.parametrize(("retries", "outcomes"), [(0, [PYTHON]), (1, [DONE])])
def test_what_exceeds_the_retries_is_left_to_python(retries: int, outcomes: list[int]) -> None:
    sender, receiver = peers(retry_count=retries)
    sender.post(4 * MTU)
    sender.offer()
    receiver.offer()
    frames = sender.frames(4, 5)
    receiver.hear(frames[1], 7)
    (nak,) = receiver.frames(9, 8)
    assert [sender.hear(nak, 9)] == outcomes
    sender.same()


@needs_native("simulator")
def test_a_timer_that_expires_in_python_after_naks_finds_the_retries_that_are_left() -> None:
    sender, receiver = peers(retry_count=2)
    sender.post(4 * MTU)
    sender.offer()
    receiver.offer()
    frames = sender.frames(4, 5)
    receiver.hear(frames[1], 7)
    assert sender.hear(receiver.frames(9, 8)[0], 9) == DONE
    sender.same()
    sender.held.take_back(10)
    for now in (10**12, 2 * 10**12):  # the second finds none
        for end in sender.ends:
            end.handle_timer(now)
            list(end.frames_to_send(now))
    sender.offer()
    assert [type(event) for event in sender.same()] == [Retransmission, QpFailed]


@needs_native("simulator")
def test_progress_fills_the_retries_up() -> None:
    sender, receiver = peers(retry_count=1, ack_every=1)
    sender.post(8 * MTU)
    sender.offer()
    receiver.offer()
    frames = sender.frames(8, 5)
    receiver.hear(frames[1], 7)
    assert sender.hear(receiver.frames(9, 8)[0], 9) == DONE
    assert sender.frames(8, 10)[0] == frames[0]
    receiver.hear(frames[0], 11)
    assert sender.hear(receiver.frames(9, 12)[0], 13) == DONE  # an ACK
    receiver.hear(frames[2], 14)
    assert sender.hear(receiver.frames(9, 15)[0], 16) == DONE
    assert [event.psn for event in sender.same() if isinstance(event, Retransmission)] == [0, 1]


@needs_native("simulator")
@pytest.mark.parametrize(("messages", "quiet"), [(10, 10), (64, 64), (70, 63)])
def test_acks_of_whole_messages_need_no_python_where_compiled_code_knows_the_next(messages: int, quiet: int) -> None:
    sender, receiver = peers(ack_every=1, window_packets=128)
    for end in receiver.ends:
        for number in range(messages):
            end.post_receive(end.queue_pairs[0].config.qpn, ReceiveRequest(number))
    for _ in range(messages):
        sender.post(MTU)
    sender.offer(quiet=True)
    acks = []
    receiver.offer()
    for frame in sender.frames(min(messages, 64), 5):
        assert receiver.hear(frame, 7) == NEWS
        receiver.same()
        acks += receiver.frames(1, 8)
    outcomes = [sender.hear(ack, 9) for ack in acks]
    assert outcomes[:quiet] == [DONE] * quiet
    assert outcomes[quiet : quiet + 1] == [NEWS] * (len(acks) > quiet)
    if len(acks) == quiet:
        sender.same()


@needs_native("simulator")
def test_messages_that_complete_quietly_complete_once() -> None:
    first, second = pair_configs(ack_every=1)
    sender, receiver = Driven(first), Driven(second)
    for end in receiver.ends:
        for number in range(4):
            end.post_receive(end.queue_pairs[0].config.qpn, ReceiveRequest(number))
    for size in (MTU, 3 * MTU, MTU, 1):
        sender.post(size)
    sender.offer(quiet=True)
    receiver.offer()
    acks = []
    for frame in sender.frames(6, 5):
        if receiver.hear(frame, 7) == NEWS:
            receiver.same()
        acks += receiver.frames(9, 8)
    assert [sender.hear(ack, 9) for ack in acks[:3]] == [DONE] * 3  # the first message, then parts of the second
    assert sender.same() == []  # offered again, not quietly
    assert sender.hear(acks[3], 10) == NEWS
    sender.same(10)
    sender.held.take_back(11)
    sender.offer(quiet=True)
    assert [sender.hear(ack, 12) for ack in acks[4:]] == [DONE] * 2
    sender.same()
    assert [pair.sender.state for pair in (CompiledPair(end.queue_pairs[0]) for end in sender.ends)] == [
        RequesterState.IDLE
    ] * 2


@needs_native("simulator")
@pytest.mark.parametrize(("announced", "offset"), [(MTU - 4, 0), (MTU + 4, 0), (2 * MTU, 0), (MTU, 1 << 20)])
def test_a_write_of_one_packet_that_is_refused_is_left_to_python(announced: int, offset: int) -> None:
    """Its RETH announces another length, or names memory that is not registered."""
    sender, receiver = peers()
    for end in receiver.ends:
        end.post_receive(end.queue_pairs[0].config.qpn, ReceiveRequest(0))
    sender.post(MTU)
    sender.offer()
    receiver.offer()
    packet = decode_packet(sender.frames(1, 5)[0])
    assert packet is not None
    assert packet.reth is not None
    reth = replace(packet.reth, length=announced, va=packet.reth.va + offset)
    assert receiver.hear(encode_packet(replace(packet, reth=reth)), 7) == PYTHON
    assert [type(event) for event in receiver.same()] == [QpFailed, NakSent]


@needs_native("simulator")
@pytest.mark.parametrize("size", [4, MTU - 4, MTU])
def test_a_write_of_one_packet_needs_a_receive(size: int) -> None:
    sender, receiver = peers()
    sender.post(size)
    sender.post(size)
    sender.offer()
    for end in receiver.ends:
        end.post_receive(end.queue_pairs[0].config.qpn, ReceiveRequest(0))
    receiver.offer()
    first, second = sender.frames(2, 5)
    assert receiver.hear(first, 7) == NEWS
    receiver.same()
    assert receiver.hear(second, 8) == PYTHON
    assert [type(event) for event in receiver.same()] == [RnrNakSent]
