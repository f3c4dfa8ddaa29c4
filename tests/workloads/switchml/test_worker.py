"""The worker against a hand that answers: what it sends, what it believes, what it tells."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.errors import InternalError, ScenarioError
from workloads.events import (
    CollectiveCompleted,
    CollectiveStarted,
    DatagramResent,
    DatagramStatistics,
    FrameRejected,
    WorkerFinished,
)
from workloads.hosts import create_host
from workloads.layers import ComputeConfig, LayerConfig
from workloads.machine import Event
from workloads.switchml import OmittedParts, SwitchMlConfig, SwitchMlWorker
from workloads.uc import UcPairs
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    Datagram,
    DatagramFlag,
    DatagramKind,
    decode_datagram,
    encode_datagram,
)

HOST, SERVICE = bytes((10, 0, 0, 1)), bytes((10, 0, 255, 1))
CONFIG = SwitchMlConfig(
    "h1", JobShare("switchml", 9, 0, 1), WorkloadConfig("synthetic", 3, 20, 2),
    Envelope(b"\x02aaaaa", b"\x02bbbbb", HOST, SERVICE, 50_000), elements=8, first_slot=10, window=2, rto_ns=10_000,
)  # fmt: skip
"""a job of one worker: the sum of a block is the block; 3 blocks of 8, 8 and 4 elements, and 2 packets more for
exponents"""


def start(config: SwitchMlConfig = CONFIG) -> SwitchMlWorker:
    worker = create_host(config)
    assert isinstance(worker, SwitchMlWorker)
    worker.handle_timer(0)
    return worker


def sent(worker: SwitchMlWorker, now: int) -> list[Datagram]:
    found = [decode_datagram(frame) for _, frame in worker.frames_to_send(now)]
    assert None not in found
    return found  # type: ignore[return-value]


def events(worker: SwitchMlWorker) -> list[Event]:
    told = []
    while (event := worker.next_event()) is not None:
        told.append(event)
    return told


def answer(packet: Datagram, **changes: Any) -> bytes:
    header: AggregationHeader = packet.header._replace(**({"kind": DatagramKind.RESULT} | changes))
    back = Envelope(b"\x02bbbbb", b"\x02aaaaa", SERVICE, HOST, AGGREGATION_PORT)
    return encode_datagram(back, AGGREGATION_PORT, header, packet.payload[: 4 * header.nelem])


def test_a_job_from_the_first_packet_to_the_last() -> None:
    worker, now, seen = start(), 0, []
    while not worker.finished:
        for packet in sent(worker, now):
            seen.append(packet.header)
            worker.receive_frame(0, answer(packet), now)
        now += 50
        worker.handle_timer(200_000_000 if worker.get_timer() == 100_000_000 + now - 50 else now)
    told = events(worker)
    assert [header.sequence for header in seen] == list(range(1, 11))
    assert [header.slot for header in seen] == [10, 11] * 5
    assert [bool(header.flags & DatagramFlag.VERSION) for header in seen] == [False, False, True, True] * 2 + [
        False
    ] * 2
    assert {header.flags for header in seen} == {0, DatagramFlag.VERSION}
    assert [header.nelem for header in seen] == [0, 0, 8, 8, 4] * 2
    assert [header.kind for header in seen[:3]] == [DatagramKind.EXPONENTS] * 2 + [DatagramKind.DATA]
    assert [header.tensor for header in seen] == [0] * 5 + [1] * 5
    assert {(header.job, header.bitmap0, header.fan_in0, header.op) for header in seen} == {(9, 1, 1, 0)}
    kinds = [type(event) for event in told]
    assert kinds == [CollectiveStarted, CollectiveCompleted] * 2 + [WorkerFinished]
    worker.finish(now)
    assert events(worker) == [DatagramStatistics(9, 10, 0, 10, 0, 0, 0)]


LAYERS = ComputeConfig((LayerConfig(4, 10, 100), LayerConfig(16, 20, 200)))
"""the second layer fills two blocks, the first one the short third"""


def test_no_packet_leaves_before_its_block_is_computed() -> None:
    worker = start(replace(CONFIG, workload=replace(CONFIG.workload, compute=LAYERS), window=3, rto_ns=10_000))
    assert worker.get_timer() == 30 + 200
    assert not sent(worker, 229)
    worker.handle_timer(230)
    first, _ = sent(worker, 230)
    worker.receive_frame(0, answer(first), 231)
    assert [packet.header.sequence for packet in sent(worker, 231)] == [4]  # integers of block 0
    assert worker.get_timer() == 330
    worker.handle_timer(330)
    assert [packet.header.sequence for packet in sent(worker, 330)] == [3]


def test_a_repetition_does_not_wait_for_what_is_not_computed() -> None:
    slow = replace(LAYERS, slowdown=1000.0)
    worker = start(replace(CONFIG, workload=replace(CONFIG.workload, compute=slow), window=3, rto_ns=10_000))
    worker.handle_timer(230_000)
    assert len(sent(worker, 230_000)) == 2
    worker.handle_timer(240_000)
    assert [packet.header.sequence for packet in sent(worker, 240_000)] == [1, 2]


def test_integers_go_without_more_exponents() -> None:
    int32 = replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", "int32"))
    worker = start(replace(CONFIG, collective=int32, workload=replace(CONFIG.workload, compute=LAYERS), window=3))
    worker.handle_timer(230)
    assert [packet.header.nelem for packet in sent(worker, 230)] == [8, 8]
    worker.handle_timer(330)
    assert [packet.header.nelem for packet in sent(worker, 330)] == [4]


def test_results_of_single_blocks_let_the_next_forward_pass_go_on() -> None:
    int32 = replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", "int32"))
    worker = start(replace(CONFIG, collective=int32, workload=replace(CONFIG.workload, compute=LAYERS), window=3))
    worker.handle_timer(330)
    first, second, third = sent(worker, 330)
    for now, packet in ((400, third), (500, first), (600, second)):
        worker.receive_frame(0, answer(packet), now)
    worker.handle_timer(600)
    worker.handle_timer(600 + 20 + 200)  # layer 1 was through before the rest came
    assert [packet.header.sequence for packet in sent(worker, 820)] == [4, 5]


def test_a_packet_without_a_result_is_sent_again_the_very_same() -> None:
    worker = start()
    ports, first = zip(*((port, bytes(frame)) for port, frame in worker.frames_to_send(0)), strict=True)
    assert ports == (0, 0)
    assert worker.get_timer() == 10_000
    worker.handle_timer(9_999)
    assert not list(worker.frames_to_send(9_999))
    worker.handle_timer(10_000)
    assert tuple(bytes(frame) for _, frame in worker.frames_to_send(10_000)) == first
    resent = [event for event in events(worker) if isinstance(event, DatagramResent)]
    assert resent == [DatagramResent(9, number, 10 + number, "timeout", 1, 10_000) for number in (0, 1)]
    worker.finish(1000)
    assert events(worker) == [DatagramStatistics(9, 4, 2, 0, 0, 2, 0)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"job": 8}, "unexpected"),
        ({"kind": DatagramKind.DATA}, "unexpected"),
        ({"policy": 2}, "unexpected"),
        ({"slot": 11}, "bad_result"),
        ({"flags": DatagramFlag.VERSION}, "bad_result"),
        ({"exponent0": -127}, "bad_result"),
    ],
)
def test_a_result_that_cannot_be_is_not_believed(changes: dict[str, int], reason: str) -> None:
    worker = start()
    packet = sent(worker, 0)[0]
    worker.receive_frame(0, answer(packet, **changes), 10)
    (rejected,) = [event for event in events(worker) if isinstance(event, FrameRejected)]
    assert rejected.reason == reason
    assert not sent(worker, 10), "it let nothing go"
    worker.receive_frame(0, answer(packet), 20)
    assert [again.header.sequence for again in sent(worker, 20)] == [3]


def test_late_and_foreign_results_change_nothing() -> None:
    worker = start()
    packets = sent(worker, 0)
    for _ in range(3):
        worker.receive_frame(0, answer(packets[0]), 10)
    worker.receive_frame(0, answer(packets[1], sequence=4_000_000_000), 10)
    worker.receive_frame(0, bytes(90), 10)
    worker.receive_frame(0, answer(packets[1])[:-1] + b"\xff", 10)
    assert [packet.header.sequence for packet in sent(worker, 10)] == [3]
    worker.finish(10)
    (statistics,) = [event for event in events(worker) if isinstance(event, DatagramStatistics)]
    assert (statistics.results_received, statistics.duplicates_received, statistics.rejected) == (1, 3, 1)


def test_a_straggler_starts_late() -> None:
    worker = start(replace(CONFIG, workload=replace(CONFIG.workload, straggle_ns=700)))
    assert worker.get_timer() == 700
    assert not sent(worker, 0)
    worker.handle_timer(700)
    assert len(sent(worker, 700)) == 2


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            replace(CONFIG, collective=JobShare("switchml", 9, 0, 1, ArithmeticSpec("max"))),
            "collective.arithmetic.op: worker h1: cannot be; found max; allowed: sum",
        ),
        (
            replace(CONFIG, collective=JobShare("switchml", 9, 0, 33)),
            "collective.size: worker h1: cannot be; found 33; allowed: 1 .. 32, what bitmaps can name",
        ),
        (replace(CONFIG, elements=7), "elements: worker h1: cannot be; found 7; allowed: an even number, 2 .. 256"),
        (replace(CONFIG, window=0), "window: worker h1: cannot be; found 0; allowed: 1 .. 65536 packets"),
        (replace(CONFIG, envelope=replace(CONFIG.envelope, src_ip=bytes(16))), "allowed: IPv4 addresses"),
        (
            replace(CONFIG, omitted=OmittedParts((0, 20), (19, 2))),
            "omitted.wanted: worker h1: cannot be; found 2 elements from 19 on; allowed: elements among the 20",
        ),
        (
            replace(CONFIG, omitted=OmittedParts((0, 20), (0, 20)), uc=UcPairs(1, 2, 3, 4, 6, 256)),
            "omitted: worker h1: cannot be; found parts of a vector; allowed: null: over UC all elements travel",
        ),
    ],
)
def test_what_cannot_be_served_is_refused(config: SwitchMlConfig, text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        create_host(config)
    assert text in str(caught.value)


def test_hosts_are_made_by_the_class_of_their_configuration() -> None:
    class Unheard:
        pass

    with pytest.raises(InternalError, match="no Machine for a host of Unheard"):
        create_host(Unheard())  # type: ignore[arg-type]
    assert isinstance(create_host(CONFIG), SwitchMlWorker)

    class Mine(SwitchMlConfig):
        def create(self, start_ns: int) -> tuple[str, int]:  # type: ignore[override]
            return "mine", start_ns

    made: object = create_host(Mine(**{field.name: getattr(CONFIG, field.name) for field in fields(CONFIG)}), 7)
    assert made == ("mine", 7)


def test_a_packet_says_whose_it_is_and_how_many_there_are() -> None:
    headers = [packet.header for packet in sent(start(replace(CONFIG, collective=JobShare("switchml", 9, 2, 3))), 0)]
    assert [(header.bitmap0, header.fan_in0) for header in headers] == [(0b100, 3)] * 2


def test_a_result_of_another_size_is_not_believed() -> None:
    int32 = replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", "int32"))
    worker = start(replace(CONFIG, collective=int32))
    packet = sent(worker, 0)[0]
    worker.receive_frame(0, answer(packet, nelem=7), 10)
    assert [event.reason for event in events(worker) if isinstance(event, FrameRejected)] == ["bad_result"]
    assert not sent(worker, 10)


WHOLE = (0, 20)
EMPTY, UNWANTED = DatagramFlag.EMPTY, DatagramFlag.UNWANTED


@pytest.mark.parametrize(
    ("parts", "flags"),
    [
        (OmittedParts(WHOLE, WHOLE), [0, 0, 0]),
        (OmittedParts((0, 0), WHOLE), [EMPTY] * 3),
        (OmittedParts(WHOLE, (0, 0)), [UNWANTED] * 3),
        (OmittedParts((8, 8), WHOLE, (8, 8)), [EMPTY, UNWANTED, EMPTY]),
        (OmittedParts((7, 2), (16, 1)), [UNWANTED, UNWANTED, EMPTY]),
        (OmittedParts((5, 0), (12, 0)), [EMPTY | UNWANTED] * 3),
        (OmittedParts(WHOLE, WHOLE, (1, 19)), [0, UNWANTED, UNWANTED]),
    ],
    ids=str,
)
def test_what_is_zero_or_not_needed_is_omitted(parts: OmittedParts, flags: list[DatagramFlag]) -> None:
    """3 blocks of 8, 8 and 4 elements."""
    int32 = replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", "int32"))
    worker = start(replace(CONFIG, collective=int32, window=3, omitted=parts))
    packets = sent(worker, 0)
    assert [packet.header.flags & (EMPTY | UNWANTED) for packet in packets] == flags
    lengths = [0 if flag & EMPTY else length for flag, length in zip(flags, (8, 8, 4), strict=True)]
    assert [packet.header.nelem for packet in packets] == lengths
    assert {packet.header.kind for packet in packets} == {DatagramKind.DATA}


def test_a_sum_that_a_worker_does_not_need_comes_without_elements() -> None:
    int32 = replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", "int32"))
    worker = start(replace(CONFIG, collective=int32, window=3, omitted=OmittedParts(WHOLE, (0, 8), (0, 0))))
    first, second, third = sent(worker, 0)
    worker.receive_frame(0, answer(first, nelem=0, flags=UNWANTED), 10)
    worker.receive_frame(0, answer(second), 10)
    assert [type(event) for event in events(worker)[1:]] == [FrameRejected] * 2
    worker.receive_frame(0, answer(first), 20)
    for packet in (second, third):
        worker.receive_frame(0, answer(packet, nelem=0), 20)
    worker.handle_timer(20)
    assert [type(event) for event in events(worker)] == [CollectiveCompleted]


def test_a_worker_has_the_sum_of_what_no_other_gives() -> None:
    int32 = replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", "int32"))
    worker = start(replace(CONFIG, collective=int32, window=3, omitted=OmittedParts(WHOLE, WHOLE, WHOLE)))
    gradient = worker.result.tolist()
    for packet in sent(worker, 0):
        worker.receive_frame(0, answer(packet, nelem=0), 20)
    assert worker.result.tolist() == gradient
    assert any(gradient)


def test_exponents_come_with_a_sum_that_is_not_needed() -> None:
    worker = start(replace(CONFIG, omitted=OmittedParts(WHOLE, (0, 0))))
    exponents = sent(worker, 0)
    assert [packet.header.flags & UNWANTED for packet in exponents] == [0, 0]
    for packet in exponents:
        worker.receive_frame(0, answer(packet, exponent0=20), 10)
    integers = sent(worker, 10)
    assert [packet.header.flags & UNWANTED for packet in integers] == [UNWANTED] * 2
    halves = [int.from_bytes(packet.payload[:4], "big", signed=True) for packet in integers]
    assert max(map(abs, halves)) < 1 << 24  # scaled by 2^20, which came back
