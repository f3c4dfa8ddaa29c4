"""The worker against a hand that answers: what it sends, what it believes, what it tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.left_out import without_missing
from workloads.atp import AtpConfig, AtpWorker
from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.errors import ScenarioError
from workloads.events import DatagramResent, DatagramStatistics, FrameRejected, WorkerFailed, WorkerFinished
from workloads.hosts import create_host
from workloads.layers import ComputeConfig, LayerConfig
from workloads.machine import Event
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    Datagram,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)
from workloads.wire.ecn import mark_ce

HOST, SERVER = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 9))
CONFIG = AtpConfig(
    "h1", JobShare("atp", 9, 1, 3, ArithmeticSpec("sum", "int32")), WorkloadConfig("synthetic", 3, 28, 2),
    Envelope(b"\x02aaaaa", b"\x02bbbbb", HOST, SERVER, 50_000), elements=8, window=3, memory=16, rto_ns=10_000,
)  # fmt: skip
"""4 blocks of 8, 8, 8 and 4 elements in an iteration, 3 of them outstanding"""
FLOATS = replace(CONFIG, collective=replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", "float32")))
RESULT, NACK, EMPTY = DatagramKind.RESULT, DatagramKind.NACK, DatagramKind.REMINDER_EMPTY


def start(config: AtpConfig = CONFIG) -> AtpWorker:
    worker = create_host(config)
    assert isinstance(worker, AtpWorker)
    worker.handle_timer(0)
    return worker


def sent(worker: AtpWorker, now: int = 0) -> list[Datagram]:
    found = [decode_datagram(frame) for _, frame in worker.frames_to_send(now)]
    assert None not in found
    return found  # type: ignore[return-value]


def told(worker: AtpWorker, kind: type[Event]) -> list[Any]:
    found = []
    while (event := worker.next_event()) is not None:
        found.append(event)
    return [event for event in found if isinstance(event, kind)]


def answer(packet: Datagram, **changes: Any) -> bytes:
    header = packet.header._replace(**({"kind": RESULT, "bitmap0": 7} | changes))
    payload = packet.payload if header.kind == RESULT else b""
    back = Envelope(b"\x02bbbbb", b"\x02aaaaa", SERVER, HOST, AGGREGATION_PORT, tos=0x02)
    return encode_datagram(back, AGGREGATION_PORT, header._replace(nelem=len(payload) // 4), payload)


def test_a_packet_says_who_sent_what_where() -> None:
    packets = sent(start())
    slots = [packet.header.slot for packet in packets]
    assert len(set(slots)) == 3
    assert [packet.header.sequence for packet in packets] == [1, 2, 3]
    header = packets[0].header
    assert (header.policy, header.kind, header.job, header.bitmap0, header.fan_in0, header.fan_in1) == (
        Policy.ATP, DatagramKind.DATA, 9, 2, 3, 0,
    )  # fmt: skip
    assert (header.op, header.priority, header.flags, header.tensor) == (0, 0, 0, 0)
    assert header.server == int.from_bytes(SERVER, "big")


def test_a_job_from_the_first_packet_to_the_last() -> None:
    worker, now, seen = start(), 0, []
    while not worker.finished:
        while packets := sent(worker, now):
            for packet in packets:
                seen.append(packet.header)
                worker.receive_frame(0, answer(packet), now)
        now = worker.get_timer()
        worker.handle_timer(now)
    assert worker.finished
    assert [header.sequence for header in seen] == list(range(1, 9))
    assert [header.slot for header in seen] == ([header.slot for header in seen[:3]] * 3)[:8], "entry k mod 3"
    assert [header.nelem for header in seen] == [8, 8, 8, 4] * 2
    assert [header.tensor for header in seen] == [0] * 4 + [1] * 4
    worker.finish(now)
    (statistics,) = told(worker, DatagramStatistics)
    assert statistics == DatagramStatistics(9, 8, 0, 8, 0, 0, 0)


def test_gaps_and_timeouts_send_a_resend() -> None:
    worker = start()
    packets = sent(worker)
    worker.receive_frame(0, answer(packets[2]), 10)
    again = sent(worker, 10)
    assert [(p.header.sequence, p.header.flags) for p in again] == [(1, DatagramFlag.RESEND), (2, DatagramFlag.RESEND)]
    assert bytes(again[0].payload) == bytes(packets[0].payload)
    worker.handle_timer(20_000)
    assert [p.header.flags for p in sent(worker, 20_000)] == [DatagramFlag.RESEND] * 2
    causes = [(event.block, event.cause, event.attempt) for event in told(worker, DatagramResent)]
    assert causes == [(0, "gap", 1), (1, "gap", 1), (0, "timeout", 2), (1, "timeout", 2)]
    worker.finish(2000)
    assert told(worker, DatagramStatistics) == [DatagramStatistics(9, 7, 4, 1, 0, 2, 0)]


def test_a_moved_entry_uses_its_new_slot_and_no_other_does() -> None:
    worker = start()
    packets = sent(worker)
    fresh = next(slot for slot in range(16) if slot not in [p.header.slot for p in packets])
    for packet in packets:
        moves = packet is packets[1]
        flags = DatagramFlag.COLLISION if moves else 0
        worker.receive_frame(0, answer(packet, flags=flags, new_slot=fresh), 10)
        worker.receive_frame(0, answer(packet, flags=DatagramFlag.COLLISION, new_slot=15 - fresh), 10)
    worker.receive_frame(0, answer(sent(worker, 10)[0]), 20)
    now = worker.get_timer()
    worker.handle_timer(now)
    worker.handle_timer(worker.get_timer())
    later = sent(worker, now)
    assert [p.header.sequence for p in later] == [5, 6, 7]
    assert [p.header.slot for p in later] == [fresh, packets[2].header.slot, packets[0].header.slot]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"job": 8}, "unexpected"),
        ({"kind": DatagramKind.REMINDER}, "unexpected"),
        ({"policy": Policy.ESA}, "unexpected"),
        ({"tensor": 1}, "bad_result"),
        ({"flags": DatagramFlag.COLLISION, "new_slot": 16}, "bad_result"),
    ],
)
def test_a_result_that_cannot_be_is_not_believed(changes: dict[str, int], reason: str) -> None:
    worker = start()
    packet = sent(worker)[0]
    worker.receive_frame(0, answer(packet, **changes), 10)
    assert [event.reason for event in told(worker, FrameRejected)] == [reason]
    assert not sent(worker, 10), "it let nothing go"
    worker.receive_frame(0, answer(packet), 20)
    assert [again.header.sequence for again in sent(worker, 20)] == [4]


def test_late_results_change_nothing() -> None:
    worker = start()
    packets = sent(worker)
    for _ in range(3):
        worker.receive_frame(0, answer(packets[0]), 10)
    worker.receive_frame(0, answer(packets[1], sequence=4_000_000_000), 10)
    worker.finish(10)
    (statistics,) = told(worker, DatagramStatistics)
    assert (statistics.results_received, statistics.duplicates_received) == (1, 3)


def test_an_overflow_ends_the_job() -> None:
    worker = start()
    packets = sent(worker)
    worker.receive_frame(0, answer(packets[1], flags=DatagramFlag.OVERFLOW), 10)
    assert worker.failed
    assert told(worker, WorkerFailed) == [WorkerFailed("overflow", "packet 2 of job 9: a sum left the range of int32")]
    assert (worker.get_timer(), sent(worker, 20)) == (None, [])
    worker.receive_frame(0, answer(packets[0]), 30)
    worker.finish(40)
    assert told(worker, DatagramStatistics) == [DatagramStatistics(9, 3, 0, 0, 1, 0, 0)], "no result counts any more"


@pytest.mark.parametrize("by", ["flag", "ip"])
def test_marks_make_the_window_smaller(by: str) -> None:
    worker = start(replace(CONFIG, workload=replace(CONFIG.workload, elements=400), window=8))
    packets = sent(worker)
    for packet in packets:
        frame = answer(packet, flags=DatagramFlag.ECN if by == "flag" else 0)
        marked = mark_ce(frame) if by == "ip" else frame
        worker.receive_frame(0, marked or b"", 10)
    assert len(packets) == 8
    assert len(sent(worker, 10)) == 4


def test_a_nack_is_answered_with_what_there_is() -> None:
    worker = start()
    packets = sent(worker)
    for packet in packets[:2]:
        worker.receive_frame(0, answer(packet), 10)
    sent(worker, 10)
    worker.receive_frame(0, answer(packets[0], kind=NACK), 20)
    worker.receive_frame(0, answer(packets[2], kind=NACK), 20)
    worker.receive_frame(0, answer(packets[2], kind=NACK, sequence=100), 20)
    whole, own = sent(worker, 20)
    assert (whole.header.sequence, whole.header.bitmap0, whole.header.flags) == (1, 7, DatagramFlag.RESEND)
    assert bytes(whole.payload) == bytes(packets[0].payload)
    assert (own.header.sequence, own.header.bitmap0, own.header.flags) == (3, 2, DatagramFlag.RESEND)


def test_results_of_two_windows_are_kept() -> None:
    worker = start(replace(CONFIG, workload=replace(CONFIG.workload, elements=400)))
    seen = []
    for _ in range(2):
        for packet in sent(worker):
            seen.append(packet)
            worker.receive_frame(0, answer(packet), 10)
    sent(worker)
    worker.receive_frame(0, answer(seen[0], kind=NACK), 20)
    assert [(p.header.kind, p.header.sequence, p.header.bitmap0) for p in sent(worker, 20)] == [
        (DatagramKind.DATA, 1, 7)
    ]


def test_what_a_worker_no_longer_has_it_says() -> None:
    worker = start(replace(CONFIG, workload=replace(CONFIG.workload, elements=400)))
    first = None
    for _ in range(10):
        for packet in sent(worker):
            first = first or packet
            worker.receive_frame(0, answer(packet), 10)
    assert first is not None
    worker.receive_frame(0, answer(first, kind=NACK), 20)
    answers = [packet.header for packet in sent(worker, 20) if packet.header.kind == EMPTY]
    assert [(header.sequence, header.bitmap0, header.nelem) for header in answers] == [(1, 2, 0)]
    (header,) = answers
    assert (header.flags, header.slot, header.tensor, header.exponent0, header.exponent1) == (0, 0, 0, 0, 0)


def test_a_worker_gives_its_results_after_its_end() -> None:
    worker = start(replace(CONFIG, workload=replace(CONFIG.workload, iterations=1)))
    packets = []
    for _ in range(2):
        for packet in sent(worker):
            packets.append(packet)
            worker.receive_frame(0, answer(packet), 10)
    worker.handle_timer(10**9)
    assert told(worker, WorkerFinished)
    worker.receive_frame(0, answer(packets[3], kind=NACK), 20)
    assert [packet.header.bitmap0 for packet in sent(worker, 20)] == [7]


def test_a_sum_that_is_gone_ends_the_job_of_who_waits_for_it() -> None:
    worker = start()
    packets = sent(worker)
    worker.receive_frame(0, answer(packets[0]), 10)
    worker.receive_frame(0, answer(packets[0], kind=EMPTY), 20)
    assert not worker.failed, "it has that one"
    worker.receive_frame(0, answer(packets[1], kind=EMPTY), 30)
    (failed,) = told(worker, WorkerFailed)
    assert (failed.reason, failed.detail) == (
        "lost", "packet 2 of job 9: the parameter server no longer has its sum, others do",
    )  # fmt: skip


def test_what_is_not_computed_does_not_leave() -> None:
    """Layers of 12 and 16 elements: the first 16 of the gradient are ready after 1300 ns, all after 1500."""
    compute = ComputeConfig((LayerConfig(12, 400, 200), LayerConfig(16, 600, 300)))
    config = replace(CONFIG, workload=replace(CONFIG.workload, compute=compute), window=4)
    worker = create_host(config)
    assert isinstance(worker, AtpWorker)
    assert worker.get_timer() == 1300
    worker.handle_timer(1300)
    assert [p.header.sequence for p in sent(worker, 1300)] == [1, 2]
    worker.handle_timer(1500)
    assert [p.header.sequence for p in sent(worker, 1500)] == [3, 4]


def test_two_levels_are_told_in_the_header() -> None:
    header = sent(start(replace(CONFIG, fan_in=(2, 4))))[0].header
    assert (header.fan_in0, header.fan_in1) == (2, 4)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"collective": JobShare("atp", 9, 0, 1, ArithmeticSpec("max"))},
            "collective.arithmetic.op: worker h1: cannot be; found max; allowed: sum",
        ),
        (
            {"collective": JobShare("atp", 9, 0, 1025)},
            "collective.size: worker h1: cannot be; found 1025; allowed: 1 .. 1024, what bitmaps can name",
        ),
        (
            {"collective": JobShare("atp", 9, 3, 3)},
            "collective.rank: worker h1: cannot be; found 3; allowed: 0 .. 2",
        ),
        (
            {"collective": JobShare("atp", 1 << 16, 0, 3)},
            "collective.job: worker h1: cannot be; found 65536; allowed: 1 .. 65535",
        ),
        ({"collective": JobShare("ring", 9, 0, 3)}, "found ring; allowed: atp, esa"),
        (
            {"collective": JobShare("atp", 9, 0, 33)},
            "place: worker h1: cannot be; found (0, 0); allowed: a rack of fan_in[1], and a worker of fan_in[0] there",
        ),
        ({"elements": 7}, "elements: worker h1: cannot be; found 7; allowed: an even number, 2 .. 256"),
        ({"window": 0}, "window: worker h1: cannot be; found 0; allowed: 1 .. 65536 packets"),
        ({"memory": 65537}, "memory: worker h1: cannot be; found 65537; allowed: 1 .. 65536 aggregators"),
        ({"priority": "first"}, "there is no such rule of priority; found 'first'"),
    ],
)
def test_configurations_that_cannot_be_served(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        create_host(replace(CONFIG, **changes))
    assert without_missing(text) in str(caught.value)


def test_what_is_damaged_is_told_and_what_is_for_others_is_nothing_to_it() -> None:
    worker = start()
    first, second, _ = sent(worker)
    told(worker, FrameRejected)
    worker.receive_frame(0, answer(first)[:-1] + b"\xff", 10)
    assert [event.reason for event in told(worker, FrameRejected)] == ["checksum"]
    envelope = Envelope(b"\x02bbbbb", b"\x02aaaaa", SERVER, bytes((10, 0, 0, 2)), AGGREGATION_PORT)
    others = encode_datagram(envelope, AGGREGATION_PORT, second.header._replace(kind=RESULT, bitmap0=7), second.payload)
    for frame in (bytes(90), others):
        worker.receive_frame(0, frame, 10)
    assert not sent(worker, 10)
    worker.finish(20)
    assert told(worker, Event) == [DatagramStatistics(9, 3, 0, 0, 0, 0, 1)]


def test_a_result_of_another_size_is_not_believed() -> None:
    worker = start()
    packet = sent(worker)[0]
    worker.receive_frame(0, answer(packet._replace(payload=packet.payload[:28])), 10)
    assert [event.reason for event in told(worker, FrameRejected)] == ["bad_result"]
    assert not sent(worker, 10)


def test_exponents_below_a_workers_own_are_not_believed() -> None:
    worker = start(FLOATS)
    first = sent(worker)[0]
    worker.receive_frame(0, answer(first, exponent1=first.header.exponent1 - 1), 10)
    assert [event.reason for event in told(worker, FrameRejected)] == ["bad_result"]
    worker.receive_frame(0, answer(first, exponent1=first.header.exponent1 + 1), 10)
    assert [packet.header.sequence for packet in sent(worker, 10)] == [4]


def test_a_slot_that_nothing_moves_to_may_be_any() -> None:
    worker = start()
    worker.receive_frame(0, answer(sent(worker)[0], new_slot=65_535), 10)
    assert told(worker, FrameRejected) == []
    assert [packet.header.sequence for packet in sent(worker, 10)] == [4]
