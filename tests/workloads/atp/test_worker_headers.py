"""What packets of a worker and its answers to NACKs say, in which order they leave, and how long it waits for
results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.workloads.atp.test_worker import CONFIG, FLOATS, NACK, answer, sent, start
from workloads.config import ArithmeticSpec
from workloads.datagrams.priority import quantise
from workloads.datagrams.quantisation import create_tensor
from workloads.gradients import create_source
from workloads.layers import ComputeConfig, LayerConfig
from workloads.wire.aggregation import DatagramFlag, DatagramKind, decode_datagram


def test_answers_to_nacks_leave_before_anything_else() -> None:
    worker = start()
    packets = sent(worker)
    for packet in packets[:2]:
        worker.receive_frame(0, answer(packet), 10)
    for packet in packets[:2]:
        worker.receive_frame(0, answer(packet, kind=NACK), 20)
    worker.receive_frame(0, answer(packets[2], kind=NACK), 20)
    frames = list(worker.frames_to_send(20))
    assert {port for port, _ in frames} == {0}
    found = [decode_datagram(frame) for _, frame in frames]
    assert [packet.header.sequence for packet in found if packet] == [1, 2, 3, 4]


def test_what_esa_packets_say_of_their_urgency_follows_the_iterations() -> None:
    """4000 ns from the first packet to the last result, 1000 ns until the next one may leave: the second says 4
    times."""
    esa = replace(
        CONFIG, collective=replace(CONFIG.collective, kind="esa"), priority="comm",
        workload=replace(CONFIG.workload, elements=8, straggle_ns=1000),
    )  # fmt: skip
    worker = start(esa)
    worker.handle_timer(1000)
    (first,) = sent(worker, 1000)
    worker.receive_frame(0, answer(first), 5000)
    worker.handle_timer(5000)
    worker.handle_timer(6000)
    (second,) = sent(worker, 6000)
    assert [packet.header.priority for packet in (first, second)] == [quantise(1, 1.0), quantise(4, 1.0)]


def test_a_nack_for_what_has_not_left_is_none_of_its_business() -> None:
    """Least of all is that lost."""
    worker = start()
    last = sent(worker)[2]
    worker.receive_frame(0, answer(last, kind=NACK, sequence=4), 20)
    assert not sent(worker, 20)


def test_exponents_go_alone_and_are_given_alone_to_a_server_that_lost_them() -> None:
    worker = start(FLOATS)
    source = create_source(FLOATS.workload, 1, 3)
    own = create_tensor(source.gradient(0), source.gradient(0).copy(), block=8, workers=3, window=3)
    packets = sent(worker)
    headers = [packet.header for packet in packets]
    assert [(header.kind, header.nelem) for header in headers] == [(DatagramKind.EXPONENTS, 0)] * 3
    assert [(header.exponent0, header.exponent1) for header in headers] == [own.payload(n)[0] for n in range(3)]
    worker.receive_frame(0, answer(packets[0], exponent0=100, exponent1=101), 10)
    (fourth,) = sent(worker, 10)
    assert (fourth.header.kind, fourth.header.nelem) == (DatagramKind.DATA, 8)
    worker.receive_frame(0, answer(packets[0], kind=NACK), 20)
    (whole,) = (packet.header for packet in sent(worker, 20))
    assert (whole.kind, whole.sequence, whole.bitmap0, whole.flags) == (
        DatagramKind.EXPONENTS, 1, 7, DatagramFlag.RESEND,
    )  # fmt: skip
    assert (whole.exponent0, whole.exponent1, whole.slot) == (100, 101, headers[0].slot)


@pytest.mark.parametrize(
    ("dtype", "scale", "op"), [("int32", None, 0), ("float32", None, 0), ("int32sat", None, 1), ("float32", 1.0, 1)]
)
def test_sums_that_must_not_wrap_are_asked_to_saturate(dtype: str, scale: float | None, op: int) -> None:
    share = replace(CONFIG.collective, arithmetic=ArithmeticSpec("sum", dtype))
    assert {packet.header.op for packet in sent(start(replace(CONFIG, collective=share, fixed_scale=scale)))} == {op}


def test_no_two_workers_have_the_same_longest_waits() -> None:
    waits = set()
    for job, rank in ((8, 0), (8, 1), (9, 0), (9, 1)):
        worker, now = start(replace(CONFIG, collective=replace(CONFIG.collective, job=job, rank=rank))), 0
        for _ in range(6):
            sent(worker, now)
            before, now = now, worker.get_timer()
            worker.handle_timer(now)
        waits.add(now - before)
    assert len(waits) == 4


def test_each_packet_says_the_urgency_of_its_own_layer_in_each_iteration_and_afterwards() -> None:
    """16 elements of the last layer, then 12 of the first one, in blocks of 8."""
    layers = ComputeConfig((LayerConfig(12, 0, 0), LayerConfig(16, 0, 0)))
    esa = replace(
        CONFIG, collective=replace(CONFIG.collective, kind="esa"), priority="layer",
        workload=replace(CONFIG.workload, compute=layers), window=4,
    )  # fmt: skip
    worker, seen, now = start(esa), [], 0
    for _ in range(2):
        seen.append(sent(worker, now))
        for packet in seen[-1]:
            worker.receive_frame(0, answer(packet), now)
        while not worker.finished and worker.get_timer() is not None:
            now = worker.get_timer()
            worker.handle_timer(now)
    least, most = quantise(1, 1.0), quantise(2, 1.0)
    assert [[packet.header.priority for packet in packets] for packets in seen] == [[least, least, most, most]] * 2
    for packet in seen[1]:
        worker.receive_frame(0, answer(packet, kind=NACK), now)
    assert [packet.header.priority for packet in sent(worker, now)] == [least, least, most, most]
