"""The NetReduce program: every group size, type, verb and address family; what it survives, and what it tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.events import SlotsAtEnd, SwitchStatistics
from tests.support.netreduce_harness import Bench, Job, Network, scramble
from workloads.collectives.ina_header import InaHeader
from workloads.config import ArithmeticSpec
from workloads.machine import event_record
from workloads.wire import encode_packet

LENGTHS = (1, 4, 4, 2, 4, 4, 1, 4)


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_group_sizes(size: int) -> None:
    network = Network(Job(size=size, lengths=LENGTHS))
    network.settle()
    network.check_end()
    assert all(set(host.transmissions.values()) == {1} for host in network.hosts)


def test_largest_group() -> None:
    bench = Bench(Job(size=64, lengths=(1, 2)))
    bench.run_through(2)


@pytest.mark.parametrize("op", ["sum", "max", "xor"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
def test_every_operation_on_every_type(op: str, dtype: str) -> None:
    network = Network(Job(lengths=(1, 4, 3), arithmetic=ArithmeticSpec(op, dtype)))
    network.settle()
    network.check_end()


def test_float_sums_do_not_depend_on_the_order_of_arrival() -> None:
    job = Job(size=4, lengths=(1, 2), arithmetic=ArithmeticSpec("sum", "float32"))
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)):
        bench = Bench(job)
        bench.run_through(1)
        sent = [out for rank in order for out in bench.data(rank, 1, 0)]
        assert sent == bench.all_of(1, 0)


@pytest.mark.parametrize("verb", ["write", "send"])
@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("mtu", [256, 1024, 4096])
def test_verbs_addresses_and_path_mtus(verb: str, ipv6: bool, mtu: int) -> None:
    network = Network(Job(lengths=(1, 3, 3), verb=verb, ipv6=ipv6, mtu=mtu, tail_bytes=20))
    network.settle()
    network.check_end()


@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"release": "asap"}, {"gate": "epsn"}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_random_faults(window: int, options: dict[str, object], seed: int) -> None:
    lengths = ((1, 4, 4, 2, 4, 1, 3, 4), (1, 1, 1, 1, 1, 1, 1, 1), (1, 3, 2, 4, 4, 4, 1, 2))[seed % 3]
    network = Network(Job(size=2 + seed % 3, lengths=lengths, window=window, seed=seed), **options)
    scramble(network, seed, rounds=1500, fault_rate=0.12)
    network.settle()
    network.check_end()


def test_jobs_without_hello() -> None:
    network = Network(Job(lengths=(4, 4, 1, 4), hello=False))
    scramble(network, 3, rounds=1000, fault_rate=0.1)
    network.settle()
    network.check_end()


def test_early_release_spares_the_others() -> None:
    """One packet lost in the middle: with `asap` the innocent hosts go back too."""
    resent = {}
    for release in ("order", "asap"):
        job = Job(size=4, lengths=(1, 8, 8, 8), message_packets=8)
        network = Network(job, release=release)
        lost = job.frame(2, 2, 1)
        while lost not in network.up[2]:
            for rank in range(4):
                while network.hosts[rank].can_send():
                    network.send(rank)
            if lost not in network.up[2]:
                network.step()
        network.up[2].remove(lost)
        network.settle()
        network.check_end()
        resent[release] = [sum(host.transmissions.values()) - len(job.places()) for host in network.hosts]
    assert resent["order"][2] > 0
    assert [count for rank, count in enumerate(resent["order"]) if rank != 2] == [0, 0, 0]
    assert min(resent["asap"]) > 0


def test_epsn_gate_hides_gaps() -> None:
    bench = Bench(Job(), gate="epsn")
    bench.run_through(1)
    assert bench.data(0, 1, 0) == bench.data(0, 1, 2) == bench.data(0, 1, 3) == []
    assert bench.reasons() == ["ahead", "ahead"]
    assert bench.data(0, 1, 1) == bench.data(0, 1, 2) == []
    assert bench.reasons() == []


def test_udp_checksum_is_taken_off_results() -> None:
    """A checksum over the old payload would make the receiver's UDP drop the result."""
    job = Job()
    bench = Bench(job)
    bench.run_through(1)
    packet = job.packet(0, 1, 0)
    bench.feed(encode_packet(replace(packet, envelope=replace(packet.envelope, udp_checksum=0x1234))), job.port(0))
    assert bench.everyone(1, 0, but=[0]) == bench.all_of(1, 0)
    assert all(frame[14 + 20 + 6 : 14 + 20 + 8] == b"\0\0" for _, frame in bench.emitted)


def test_ethernet_padding_is_no_payload() -> None:
    job = Job(lengths=(1, 2), message_packets=2, tail_bytes=4)
    bench = Bench(job)
    bench.run_through(1)
    bench.everyone(1, 0)
    sent = [out for rank in range(3) for out in bench.feed(job.frame(rank, 1, 1) + bytes(9), job.port(rank))]
    assert sent == [(job.port((rank + 1) % 3), job.result(rank, 1, 1)) for rank in range(3)]


def test_buffers_of_the_caller_may_be_reused() -> None:
    """Frames are kept as copies, of our own data and of what passes by."""
    job = Job()
    bench = Bench(job)
    buffer = bytearray(2048)
    for rank in range(3):
        frame = job.frame(rank, 0, 0)
        buffer[: len(frame)] = frame
        bench.program.receive_frame(job.port(rank), memoryview(buffer)[: len(frame)], 0)
        ack = job.answer(0, rank, 0)
        buffer[: len(ack)] = ack
        bench.program.receive_frame(job.port(1), memoryview(buffer)[: len(ack)], 0)
        buffer[:] = b"\xee" * len(buffer)
    sent = [(port, bytes(frame)) for port, frame in bench.program.frames_to_send(0)]
    answers = [(job.port(0), job.answer(0, rank, 0)) for rank in range(3)]
    results = [(job.port((rank + 1) % 3), job.result(rank, 0, 0)) for rank in range(3)]
    assert sent == [*answers[:2], *results, answers[2]]


def test_frames_not_taken_stay() -> None:
    bench = Bench(Job())
    for rank in range(3):
        bench.program.receive_frame(rank, bench.job.frame(rank, 0, 0), 0)
    taken = next(iter(bench.program.frames_to_send(0)))
    rest = list(bench.program.frames_to_send(0))
    assert [port for port, _ in [taken, *rest]] == [1, 2, 0]


def test_what_is_told_at_the_end() -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    bench.data(0, 1, 1)
    bench.data(1, 1, 1)
    bench.program.finish(5)
    slots, statistics = iter(bench.program.next_event, None)
    assert slots == SlotsAtEnd(7, 16, 2, 3)
    assert isinstance(statistics, SwitchStatistics)
    reasons = {"icrc", "nofirst", "stale", "stale_forwarded", "overrun", "duplicate", "mismatch", "length"}
    always = {"data_in", "results_out", "bypassed", "forwarded", "flooded", "inconsistent_first", "malformed", *reasons}
    assert always <= set(statistics.counters)
    assert statistics.counters["data_in"] == 6
    assert statistics.counters["results_out"] == 3
    assert event_record(statistics)["counters"]["inferred"] == 1


def test_no_timer() -> None:
    program = Bench(Job()).program
    assert program.get_timer() is None
    program.handle_timer(10**18)
    assert list(program.frames_to_send(10**18)) == []


def test_ina_header_of_a_result_is_its_own_connections() -> None:
    bench = Bench(Job())
    sent = [frame for rank in range(3) for _, frame in bench.feed(bench.job.frame(rank, 0, 0), rank)]
    assert [InaHeader.decode(frame, len(frame) - 20).rank for frame in sent] == [0, 1, 2]
