"""The worker over unreliable connections: what it puts on the wire, and what it believes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.uc_ends import received
from tests.support.uc_ends import sent as sent_by
from workloads.config import ArithmeticSpec, Framing, JobShare, WorkloadConfig
from workloads.errors import ScenarioError
from workloads.events import DatagramResent, DatagramStatistics, FrameRejected
from workloads.hosts import create_host
from workloads.layers import ComputeConfig, LayerConfig
from workloads.machine import Event
from workloads.switchml import SwitchMlConfig, SwitchMlWorker
from workloads.uc import UcMessage, UcPairs, UcWrite
from workloads.uc.transport import UNRELIABLE
from workloads.wire import Envelope, Opcode, Packet, decode_packet, icrc_is_valid

HOST, SERVICE = bytes((10, 0, 0, 1)), bytes((10, 0, 255, 1))
PAIRS = UcPairs(0x300, 0x40_000A, 0xFFFFFF, 0x9000, 0x44, 16)
CONFIG = SwitchMlConfig(
    "h1", JobShare("switchml", 9, 0, 1), WorkloadConfig("synthetic", 3, 20, 1),
    Envelope(b"\x02aaaaa", b"\x02bbbbb", HOST, SERVICE, 50_000), elements=8, first_slot=10, window=2, rto_ns=10_000,
    uc=PAIRS,
)  # fmt: skip
"""a job of one worker: the sum of a block is the block; 3 blocks of 8, 8 and 4 elements, 4 in a packet, and 2 messages
more for exponents"""


class Switch:
    """A hand that answers."""

    def __init__(self) -> None:
        back = Envelope(b"\x02bbbbb", b"\x02aaaaa", SERVICE, HOST)
        self.endpoint = UNRELIABLE.endpoint([PAIRS.service_qp(cell, back) for cell in range(2)], longest=32)

    def take(self, frames: list[bytes]) -> list[UcMessage]:
        return [message for frame in frames if (message := received(self.endpoint, frame)) is not None]

    def answer(self, message: UcMessage, **changes: object) -> list[bytes]:
        write = message.write._replace(rkey=PAIRS.rkey | message.write.rkey & 1)
        return sent_by(self.endpoint, message.qpn, write._replace(**changes))  # type: ignore[arg-type]


def start(config: SwitchMlConfig = CONFIG) -> SwitchMlWorker:
    worker = create_host(config)
    assert isinstance(worker, SwitchMlWorker)
    worker.handle_timer(0)
    return worker


def sent(worker: SwitchMlWorker, now: int) -> list[bytes]:
    return [bytes(frame) for _, frame in worker.frames_to_send(now)]


def give(worker: SwitchMlWorker, frames: list[bytes], now: int) -> None:
    for frame in frames:
        worker.receive_frame(0, frame, now)


def events(worker: SwitchMlWorker) -> list[Event]:
    told = []
    while (event := worker.next_event()) is not None:
        told.append(event)
    return told


def packets(frames: list[bytes]) -> list[Packet]:
    found = [decode_packet(frame) for frame in frames]
    return [packet for packet in found if packet is not None]


def test_a_job_from_the_first_message_to_the_last() -> None:
    worker, switch, now, seen = start(), Switch(), 0, []
    wire: list[bytes] = []
    for _ in range(20):
        frames = sent(worker, now)
        wire += frames
        for message in switch.take(frames):
            seen.append(message)
            give(worker, switch.answer(message), now)
        now += 50
        worker.handle_timer(200_000_000)
    assert worker.finished
    assert all(map(icrc_is_valid, wire))
    assert [message.qpn for message in seen] == [0x40_000A, 0x40_000B] * 2 + [0x40_000A]
    assert [message.write.rkey for message in seen] == [20, 22, 21, 23, 20]
    assert [message.write.va for message in seen] == [0x9000 + 32 * number for number in range(5)]
    assert [message.write.imm & 0xFFFF for message in seen if message.write.imm] == [1, 2, 3, 4, 5]
    assert [len(message.write.payload) for message in seen] == [0, 0, 32, 32, 16]
    opcodes = [Opcode(packet.bth.opcode).name[9:] for packet in packets(wire)]
    assert opcodes == ["ONLY_IMM"] * 2 + ["FIRST", "LAST_IMM"] * 2 + ["ONLY_IMM"]
    psns = [packet.bth.psn for packet in packets(wire) if packet.bth.dest_qpn == 0x40_000A]
    assert psns == [0xFFFFFF, 0, 1, 2]
    worker.finish(now)
    (statistics,) = [event for event in events(worker) if isinstance(event, DatagramStatistics)]
    assert statistics == DatagramStatistics(9, 5, 0, 5, 0, 0, 0)


def test_a_repetition_is_the_same_message_with_new_psns() -> None:
    worker, switch = start(), Switch()
    first = sent(worker, 0)
    worker.handle_timer(10_000)
    again = sent(worker, 10_000)
    assert [m.write for m in switch.take(first)] == [m.write for m in switch.take(again)]
    assert [packet.bth.psn for packet in packets(first + again)] == [0xFFFFFF, 0xFFFFFF, 0, 0]
    assert len([event for event in events(worker) if isinstance(event, DatagramResent)]) == 2


def test_frames_that_were_not_taken_leave_later_and_in_order() -> None:
    worker, switch = start(), Switch()
    for message in switch.take(sent(worker, 0)):
        give(worker, switch.answer(message), 1)
    one_by_one = [bytes(next(iter(worker.frames_to_send(2)))[1]) for _ in range(4)]
    assert not sent(worker, 2)
    assert [len(message.write.payload) for message in switch.take(one_by_one)] == [32, 32]


def test_half_a_result_is_none() -> None:
    worker, switch = start(), Switch()
    for message in switch.take(sent(worker, 0)):
        give(worker, switch.answer(message), 1)
    (message, _) = switch.take(sent(worker, 2))
    one, two = switch.answer(message)
    give(worker, [one], 3)
    assert not sent(worker, 3)
    three, four = switch.answer(message)
    give(worker, [four, two], 4)
    assert [event.reason for event in events(worker) if isinstance(event, FrameRejected)] == ["gap", "gap"]
    give(worker, [three, four], 5)
    assert len(sent(worker, 5)) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rkey": 0x46}, "malformed"),
        ({"rkey": 0x45}, "bad_result"),
        ({"va": 0x9001}, "malformed"),
        ({"va": 0x9020}, "malformed"),
        ({"imm": None}, "malformed"),
        ({"imm": 0x80_80_0001}, "bad_result"),
        ({"payload": b"1234"}, "bad_result"),
        ({"payload": bytes(33)}, "invalid"),
    ],
)
def test_a_result_that_cannot_be_is_not_believed(changes: dict[str, object], reason: str) -> None:
    worker, switch = start(), Switch()
    message = switch.take(sent(worker, 0))[0]
    give(worker, switch.answer(message, **changes)[:1], 10)
    assert [event.reason for event in events(worker) if isinstance(event, FrameRejected)] == [reason]
    assert not sent(worker, 10), "it let nothing go"
    give(worker, switch.answer(message), 20)
    assert len(sent(worker, 20)) == 2


def test_a_damaged_result_is_dropped_and_a_foreign_frame_ignored() -> None:
    worker, switch = start(), Switch()
    message = switch.take(sent(worker, 0))[0]
    (frame,) = switch.answer(message)
    give(worker, [frame[:-1] + bytes([frame[-1] ^ 1]), bytes(90), frame[:30] + b"\x0a\x00\x00\x02" + frame[34:]], 1)
    assert [event.reason for event in events(worker) if isinstance(event, FrameRejected)] == ["icrc"]
    back = Envelope(b"\x02bbbbb", b"\x02aaaaa", SERVICE, HOST)
    stray = UNRELIABLE.endpoint([replace(PAIRS, qpn=0x302).service_qp(0, back)])
    give(worker, sent_by(stray, 0x40_000A, UcWrite(0x9000, 0x44, 1, b"")), 2)
    assert [event.reason for event in events(worker) if isinstance(event, FrameRejected)] == ["unknown_qp"]


def test_a_full_message_has_the_bytes_that_the_bound_counts() -> None:
    worker, switch = start(), Switch()
    for message in switch.take(sent(worker, 0)):
        give(worker, switch.answer(message), 1)
    first_message = sent(worker, 2)[:2]
    assert CONFIG.framing == Framing(32, sum(map(len, first_message)))
    assert replace(CONFIG, uc=None).framing == Framing(32, 82 + 32)


def test_more_elements_fit_a_message_than_a_datagram() -> None:
    create_host(replace(CONFIG, elements=4096))
    with pytest.raises(ScenarioError, match=r"found 4098; allowed: an even number, 2 \.\. 4096"):
        create_host(replace(CONFIG, elements=4098))


def test_a_message_leaves_when_its_last_packet_is_computed() -> None:
    """Backward emits the last layer first: its 14 elements are a message and 6 of the 8 of the next one."""
    layers = ComputeConfig((LayerConfig(6, 10, 100), LayerConfig(14, 20, 200)))
    integers = replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", "int32"))
    worker = start(replace(CONFIG, collective=integers, workload=replace(CONFIG.workload, compute=layers), window=2))
    switch = Switch()
    worker.handle_timer(230)
    (first,) = switch.take(sent(worker, 230))
    give(worker, switch.answer(first), 231)
    assert sent(worker, 231) == []
    worker.handle_timer(330)
    assert [len(message.write.payload) for message in switch.take(sent(worker, 330))] == [32, 16]
