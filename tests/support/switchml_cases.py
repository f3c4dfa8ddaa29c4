"""What a SwitchML switch must do, case by case; each takes the bench with the program that it tries, in either framing.

The first ten have the names of the packet tests of `microsoft/SwitchML`. What they ask for is our reading of these
names.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.support.switchml_bench import SERVICE_IP, MakeBench, job_config, member_ip, member_mac
from workloads.datagrams.blocks import MemoryAtEnd
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramKind, Policy, encode_datagram

__all__ = ["CASES"]

EVERYONE = (0, 1, 2)


def basic_reduction(make: MakeBench) -> None:
    for workers in (1, 2, 3, 32):
        bench = make(workers=workers)
        results = bench.send_all(0, workers)
        assert results == dict.fromkeys(range(workers), bench.total(0, workers))
        assert bench.summed == [(0, (1,) * workers)]


def retransmit_after_reduction(make: MakeBench) -> None:
    bench = make()
    results = bench.send_all(0)
    assert bench.send(1, 0) == {1: results[1]}
    assert bench.replayed == [(1, 0)]
    assert bench.summed == [(0, (1, 1, 1))]


def other_set_reduction(make: MakeBench) -> None:
    bench = make()
    assert bench.send_all(bench.window) == dict.fromkeys(EVERYONE, bench.total(bench.window))


def both_sets_reduction(make: MakeBench) -> None:
    bench = make()
    for block in (0, bench.window):
        assert bench.send_all(block) == dict.fromkeys(EVERYONE, bench.total(block))


def slot_reuse(make: MakeBench) -> None:
    bench = make()
    for turn in range(5):
        block = turn * bench.window
        assert bench.send_all(block) == dict.fromkeys(EVERYONE, bench.total(block))
    assert [counts for _, counts in bench.summed] == [(1, 1, 1)] * 5


def ignore_retransmissions(make: MakeBench) -> None:
    bench = make()
    assert bench.send(0, 0) == bench.send(0, 0) == bench.send(1, 0) == bench.send(0, 0) == {}
    assert bench.send(2, 0) == dict.fromkeys(EVERYONE, bench.total(0))
    assert bench.reasons == ["duplicate", "duplicate"]
    assert bench.summed == [(0, (1, 1, 1))]


def retransmit_from_previous_set(make: MakeBench) -> None:
    bench = make()
    old = bench.send_all(0)
    assert bench.send(0, bench.window) == bench.send(2, bench.window) == {}
    assert bench.send(1, 0) == {1: old[1]}
    assert bench.send(1, bench.window) == dict.fromkeys(EVERYONE, bench.total(bench.window))


def slot_reuse_and_retransmit(make: MakeBench) -> None:
    bench = make()
    for turn in range(4):
        block = turn * bench.window
        assert bench.send(0, block) == bench.send(0, block) == {}
        if turn:
            assert bench.send(2, block - bench.window) == {2: bench.total(block - bench.window)}
        assert bench.send(2, block) == {}
        assert bench.send(1, block) == dict.fromkeys(EVERYONE, bench.total(block))
        for rank in EVERYONE:
            assert bench.send(rank, block) == {rank: bench.total(block)}


def non_switchml(make: MakeBench) -> None:
    bench = make()
    bench.send(0, 0)
    other = Envelope(member_mac(0), member_mac(2), member_ip(0), member_ip(2))
    header = AggregationHeader(Policy.ATP, DatagramKind.DATA, 7, 1, 0, 1, 3)
    frames = [member_mac(2) + member_mac(0) + b"\x08\x06" + bytes(46)]
    frames.append(encode_datagram(other, AGGREGATION_PORT, header, b""))  # to another host
    frames.append(encode_datagram(other, 4791, header, b""))  # to another port
    for frame in frames:
        sent = bench.give(0, frame)
        assert sent == [(2, frame)]
    assert not bench.reasons
    assert bench.at_end()[0].peak_occupied == 1
    assert bench.send(1, 0) == {}
    assert bench.send(2, 0) == dict.fromkeys(EVERYONE, bench.total(0))


def different_ports_reduction(make: MakeBench) -> None:
    bench = make()
    assert bench.send(0, 0, sport=50000) == bench.send(1, 0, sport=50001) == {}
    assert bench.send(2, 0, sport=50002) == dict.fromkeys(EVERYONE, bench.total(0))


def results_are_addressed(make: MakeBench) -> None:
    """Each worker gets a frame of its own, from the service, with all workers in the bitmap."""
    bench = make()
    for rank in (0, 1):
        bench.give(rank, bench.frames(rank, 5))
    sent = bench.give(2, bench.frames(2, 5))
    for port, frame in sent:
        assert frame[:6] == member_mac(port)
        assert (frame[26:30], frame[30:34]) == (SERVICE_IP, member_ip(port))
    found = bench.results(sent)
    assert [port for port, _ in found] == [0, 1, 2]
    assert {(header.bitmap0, header.sequence, header.slot) for _, (_, header, _) in found} == {(0b111, 6, 1)}


def sums_wrap(make: MakeBench) -> None:
    bench = make(workers=2)
    bench.send(0, 0, [2**31 - 1, -(2**31)])
    assert bench.send(1, 0, [1, -1])[0] == [-(2**31), 2**31 - 1]


def largest_exponents(make: MakeBench) -> None:
    """Of each half its own; a late answer carries them too, and the next block knows nothing of them."""
    bench = make()
    for rank, exponents in enumerate([(-126, 5), (127, -7), (3, -128)]):
        sent = bench.give(rank, bench.frames(rank, 0, exponents=exponents))
    sent += bench.give(0, bench.frames(0, 0, exponents=(-126, 5)))
    assert [(header.exponent0, header.exponent1) for _, (_, header, _) in bench.results(sent)] == [(127, 5)] * 4
    for rank in EVERYONE:
        bench.send(rank, bench.window)
    for rank in EVERYONE:
        sent = bench.give(rank, bench.frames(rank, 2 * bench.window, exponents=(-9, -9)))
    assert bench.results(sent)[0][1].header.exponent0 == -9


def late_copy(make: MakeBench) -> None:
    """The network delivers a copy of an old packet when its index serves another block: it counts nowhere, and takes
    nobody's contribution away."""
    bench = make()
    old = bench.frames(0, 0)
    bench.send_all(0)
    bench.send(0, bench.window)
    assert bench.give(0, old) == []
    assert bench.send(0, bench.window) == bench.send(1, bench.window) == {}
    assert bench.send(2, bench.window) == dict.fromkeys(EVERYONE, bench.total(bench.window))
    assert bench.give(0, old) == []
    for rank in EVERYONE:
        results = bench.send(rank, 2 * bench.window)
    assert results == dict.fromkeys(EVERYONE, bench.total(2 * bench.window))
    assert {counts for _, counts in bench.summed} == {(1, 1, 1)}
    assert "stale" in bench.reasons


def sequence_wraps(make: MakeBench) -> None:
    """Blocks are numbered modulo 2^32."""
    bench = make()
    last = (1 << 32) - bench.window
    for block in (last, 0, bench.window):
        assert bench.send_all(block) == dict.fromkeys(EVERYONE, bench.total(block))
    assert bench.give(0, bench.frames(0, last)) == []
    assert bench.reasons == ["stale"]


def overrun(make: MakeBench) -> None:
    """A worker that goes on without a result is not believed, and harms nobody."""
    bench = make()
    bench.send(0, 0)
    assert bench.send(0, bench.window) == bench.send(1, bench.window) == {}
    assert bench.reasons == ["overrun", "overrun"]
    bench.send(1, 0)
    assert bench.send(2, 0) == dict.fromkeys(EVERYONE, bench.total(0))


def contradictions(make: MakeBench) -> None:
    """Another block, or another size, than what is in the slot."""
    bench = make()
    bench.send(0, 0)
    assert bench.send(1, 2 * bench.window) == bench.send(1, 0, [1, 2, 3]) == {}
    assert bench.reasons == ["mismatch", "mismatch"]


def bad_packets(make: MakeBench) -> None:
    bench = make()
    assert bench.give(1, bench.frames(0, 0)) == []
    *whole, last = bench.frames(0, 0)
    assert bench.give(0, [*whole, last[:-1] + bytes([last[-1] ^ 1])]) == []
    for changes in bench.framing.lies:
        assert bench.give(0, bench.frames(0, 0, **changes)) == []
    assert bench.give(0, bench.frames(0, 0, list(range(9)))[:1]) == []
    assert bench.reasons == ["wrong_port", *bench.framing.reasons]
    assert bench.send_all(0) == dict.fromkeys(EVERYONE, bench.total(0))


def two_jobs(make: MakeBench) -> None:
    """Slots, results and workers of two jobs have nothing to do with each other."""
    one, two = job_config(3, workers=2, slots=2), job_config(4, first_member=2, workers=2, first_slot=2, slots=2)
    bench = make(one, two)
    bench.send(0, 0, job=one)
    bench.send(0, 0, [100, 200], job=two)
    assert bench.send(1, 0, [5, 6], job=two) == {2: [105, 206], 3: [105, 206]}
    assert bench.send(1, 0, job=one) == dict.fromkeys((0, 1), bench.total(0, 2))
    assert bench.give(2, bench.frames(0, 1, job=two, slot=0)) == []
    assert bench.give(2, bench.frames(0, 1, job=two, slot=1)) == []
    assert bench.reasons == ["bad_slot", "bad_slot"]


def who_departs_is_not_summed(make: MakeBench) -> None:
    """In the middle of a run; the others go on, in their own part of the pool."""
    one, two = job_config(3, workers=2, slots=2), job_config(4, first_member=2, workers=2, first_slot=2, slots=2)
    bench = make(one, two)
    bench.send(0, 0, job=one)
    bench.send(0, 0, [100, 200], job=two)
    assert bench.program.depart(3)
    assert not bench.program.depart(3)
    assert bench.send(1, 0, job=one) == {}
    assert bench.reasons == ["malformed"]
    assert bench.send(1, 0, [5, 6], job=two) == {2: [105, 206], 3: [105, 206]}
    assert [(told.job, told.open, told.first_slot) for told in bench.at_end()] == [(3, 1, 0), (4, 0, 2)]


def memory_is_told(make: MakeBench) -> None:
    bench = make()
    bench.send_all(0)
    bench.send(0, 1)
    (told,) = bench.at_end()
    assert isinstance(told, MemoryAtEnd)
    assert (told.first_slot, told.slots, told.values, told.open, told.peak_occupied) == (0, 4, 8, 1, 2)
    assert told.busy_ns == 3 * 1000


CASES: dict[str, Callable[[MakeBench], None]] = {
    case.__name__: case
    for case in (
        basic_reduction, retransmit_after_reduction, other_set_reduction, both_sets_reduction, slot_reuse,
        ignore_retransmissions, retransmit_from_previous_set, slot_reuse_and_retransmit, non_switchml,
        different_ports_reduction, results_are_addressed, sums_wrap, largest_exponents, late_copy, sequence_wraps,
        overrun,
        contradictions, bad_packets, two_jobs, who_departs_is_not_summed,
        memory_is_told,
    )
}  # fmt: skip
