"""What ATP and ESA switches must do, case by case; each takes the two programs that it tries.

The first ten have the names of the packet tests of `microsoft/SwitchML` (`docs/switchml.md`, "Regression list"): what
they mean for slots that a server's result frees, and for slots that a complete sum frees by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.support.aggregator_bench import ACK, Bench, Programs, Sent, job_config
from tests.support.switchml_bench import SERVICE_IP, member_ip, member_mac
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramFlag,
    DatagramKind,
    Policy,
    encode_datagram,
)

__all__ = [
    "CASES",
    "COLLISION",
    "ECN",
    "EVICTED",
    "OVERFLOW",
    "RESEND",
    "SERVER",
    "atp",
    "both",
    "esa",
    "finish_block",
    "only",
]

RESEND, COLLISION, EVICTED = int(DatagramFlag.RESEND), int(DatagramFlag.COLLISION), int(DatagramFlag.EVICTED)
ECN, OVERFLOW = int(DatagramFlag.ECN), int(DatagramFlag.OVERFLOW)
SERVER = 3
"""port of the server of the usual job"""


def atp(programs: Programs, **more: object) -> Bench:
    return Bench(programs.atp, **more)  # type: ignore[arg-type]


def esa(programs: Programs, *jobs: object, **more: object) -> Bench:
    return Bench(programs.esa, *jobs, **more)  # type: ignore[arg-type]


def both(programs: Programs) -> tuple[Bench, Bench, Bench]:
    """ATP, ESA that frees on the server's result, ESA that frees early."""
    return atp(programs), esa(programs, knobs=ACK), esa(programs)


def only(sent: list[Sent]) -> Sent:
    assert len(sent) == 1
    return sent[0]


def finish_block(bench: Bench, block: int, **more: object) -> None:
    """All send, and whoever makes the result has made it; the workers get the right sum."""
    out = bench.fill(block, **more)
    if len(out) == 1:
        assert (out[0].port, out[0].kind, out[0].bitmap) == (SERVER, DatagramKind.DATA, 0b111)
        out = bench.result(block, out[0].values)
    assert {s.port: s.values for s in out if s.port != SERVER} == dict.fromkeys((0, 1, 2), bench.total(block))


def basic_reduction(programs: Programs) -> None:
    for workers in (1, 2, 3, 32):
        bench, everyone, ranks = atp(programs, workers=workers), (1 << workers) - 1, range(workers)
        sent = only(bench.fill(0, ranks))
        assert (sent.port, sent.kind, sent.bitmap, sent.flags) == (workers, DatagramKind.DATA, everyone, 0)
        assert sent.values == bench.total(0, ranks)
        assert (sent.src_ip, sent.dst_ip) == (member_ip(workers - 1), member_ip(workers))
        assert bench.partial == [(0, (1,) * workers, "complete")]
        results = bench.result(0, sent.values)
        assert [(s.port, s.kind, s.values, s.dst_ip) for s in results] == [
            (rank, DatagramKind.RESULT, bench.total(0, ranks), member_ip(rank)) for rank in ranks
        ]
        assert {(s.src_ip, s.frame[:6]) for s in results} == {(member_ip(workers), member_mac(r)) for r in ranks}
        assert bench.occupied() == []

        bench = esa(programs, workers=workers)
        results = bench.fill(0, ranks)
        assert [(s.port, s.kind, s.values, s.bitmap, s.dst_ip) for s in results] == [
            (port, DatagramKind.RESULT, bench.total(0, ranks), everyone, member_ip(port)) for port in (*ranks, workers)
        ]
        assert {s.src_ip for s in results} == {SERVICE_IP}
        assert bench.summed == [(0, (1,) * workers)]
        assert bench.partial == [(0, (1,) * workers, "complete")]
        assert bench.occupied() == []


def retransmit_after_reduction(programs: Programs) -> None:
    """A copy of a contribution brings the kept sum once more; a worker that asks again takes it out of the slot."""
    for bench in (atp(programs), esa(programs, knobs=ACK)):
        first = only(bench.fill(0))
        again = only(bench.send(1, 0))
        assert (again.port, again.bitmap, again.values) == (SERVER, 0b111, first.values)
        asked = only(bench.resend(0, 0))
        assert (asked.port, asked.bitmap, asked.values, asked.flags) == (SERVER, 0b111, first.values, RESEND)
        assert bench.occupied() == []
        assert [reason for *_, reason in bench.partial] == ["complete", "repeated", "flushed"]
        assert {entered for _, entered, _ in bench.partial} == {(1, 1, 1)}
    bench = esa(programs)
    bench.fill(0)
    asked = only(bench.resend(1, 0))
    assert (asked.port, asked.bitmap, asked.values) == (SERVER, 0b010, bench.values(1, 0))
    assert bench.occupied() == []
    assert bench.summed == [(0, (1, 1, 1))]


def other_set_reduction(programs: Programs) -> None:
    for bench in both(programs):
        finish_block(bench, 8)


def both_sets_reduction(programs: Programs) -> None:
    """Two slots know nothing of each other."""
    for bench in both(programs):
        for rank in (0, 1):
            assert bench.send(rank, 0) == bench.send(rank, 1) == []
        assert {tuple(s.values) for s in bench.send(2, 0)} == {tuple(bench.total(0))}
        assert {tuple(s.values) for s in bench.send(2, 1)} == {tuple(bench.total(1))}


def slot_reuse(programs: Programs) -> None:
    for bench in both(programs):
        for turn in range(4):
            finish_block(bench, 8 * turn)
        assert {entered for _, entered, _ in bench.partial} == {(1, 1, 1)}
        assert bench.occupied() == []


def ignore_retransmissions(programs: Programs) -> None:
    for bench in both(programs):
        assert bench.send(0, 0) == bench.send(0, 0) == bench.send(1, 0) == bench.send(0, 0) == []
        assert {tuple(s.values) for s in bench.send(2, 0)} == {tuple(bench.total(0))}
        assert bench.reasons == ["duplicate", "duplicate"]
        assert bench.partial[0] == (0, (1, 1, 1), "complete")


def retransmit_from_previous_set(programs: Programs) -> None:
    """A worker that asks for a block that its slot no longer serves is passed on, and disturbs nothing."""
    for bench in both(programs):
        finish_block(bench, 0)
        assert bench.send(0, 8) == bench.send(2, 8) == []
        asked = only(bench.resend(1, 0))
        assert (asked.port, asked.bitmap, asked.flags, asked.values) == (SERVER, 0b010, RESEND, bench.values(1, 0))
        assert {tuple(s.values) for s in bench.send(1, 8)} == {tuple(bench.total(8))}


def slot_reuse_and_retransmit(programs: Programs) -> None:
    for bench in both(programs):
        for turn in range(4):
            block = 8 * turn
            assert bench.send(0, block) == bench.send(0, block) == []
            if turn:
                assert only(bench.resend(2, block - 8)).bitmap == 0b100
            out = bench.fill(block, (2, 1))
            if len(out) == 1:
                out = bench.result(block, out[0].values)
            assert {tuple(s.values) for s in out} == {tuple(bench.total(block))}
            for rank in (0, 1, 2):
                assert only(bench.resend(rank, block)).bitmap == 1 << rank


def other_traffic(programs: Programs) -> None:
    """Other policies, jobs, ports, receivers, kinds: all of it passes as it is."""
    for bench in both(programs):
        bench.send(0, 0)
        other = Envelope(member_mac(0), member_mac(2), member_ip(0), member_ip(2))
        header = AggregationHeader(bench.policy, DatagramKind.DATA, 7, 1, 0, 1, 3)
        to_server = Envelope(member_mac(0), member_mac(SERVER), member_ip(0), member_ip(SERVER))
        frames = [(2, member_mac(2) + member_mac(0) + b"\x08\x06" + bytes(46))]
        frames += [(2, encode_datagram(other, AGGREGATION_PORT, header, b""))]
        frames += [(2, encode_datagram(other, 4791, header, b""))]
        strangers = [header._replace(policy=Policy.SWITCHML), header._replace(job=8)]
        strangers += [header._replace(kind=kind) for kind in (DatagramKind.NACK, DatagramKind.REMINDER_EMPTY)]
        strangers += [header._replace(kind=DatagramKind.RESULT)]
        frames += [(SERVER, encode_datagram(to_server, AGGREGATION_PORT, each, b"")) for each in strangers]
        for port, frame in frames:
            assert bench.give(0, frame) == [(port, frame)]
        assert not bench.reasons
        assert bench.send(1, 0) == []
        assert {tuple(s.values) for s in bench.send(2, 0)} == {tuple(bench.total(0))}


def different_ports_reduction(programs: Programs) -> None:
    for bench in both(programs):
        assert bench.send(0, 0, sport=50000) == bench.send(1, 0, sport=50001) == []
        assert {tuple(s.values) for s in bench.send(2, 0, sport=50002)} == {tuple(bench.total(0))}


def collision(programs: Programs) -> None:
    """Two jobs share all slots; who finds a slot taken goes to its own server, marked, and the slot is as it was."""
    one, two = job_config(3), job_config(4, first=4)
    for bench in (Bench(programs.atp, one, two), Bench(programs.esa, one, two, knobs=ACK)):
        assert bench.send(0, 5, job=one) == []
        sent = only(bench.send(1, 5, job=two))
        assert (sent.port, sent.bitmap, sent.flags, sent.values) == (7, 0b010, COLLISION, bench.values(1, 5))
        assert bench.collided == [(4, 5, 3, 5)]
        assert bench.send(1, 5, job=one) == []
        assert only(bench.send(2, 5, job=one)).values == bench.total(5)
        assert only(bench.send(0, 13, job=two)).flags == COLLISION  # complete, and kept
        assert [s.port for s in bench.result(5, job=one)] == [0, 1, 2]
        assert bench.send(0, 13, job=two) == []


def a_marked_packet_is_not_aggregated(programs: Programs) -> None:
    for bench in both(programs):
        bench.send(0, 0)
        for flag in (OVERFLOW, COLLISION, EVICTED):
            assert only(bench.send(1, 0, flags=flag)).bitmap == only(bench.send(1, 1, flags=flag)).bitmap == 0b010
        assert bench.occupied() == [0]


def resend_never_allocates(programs: Programs) -> None:
    for bench in both(programs):
        sent = only(bench.resend(1, 0))
        assert (sent.port, sent.bitmap, sent.flags) == (SERVER, 0b010, RESEND)
        assert bench.occupied() == []
        bench.send(0, 0)
        assert only(bench.resend(1, 8)).flags == RESEND  # and is no collision
        assert bench.collided == []
        assert bench.occupied() == [0]


def resend_flushes(programs: Programs) -> None:
    """The partial sum leaves with it: with its own part, once."""
    for bench in both(programs):
        bench.fill(0, (0, 1))
        sent = only(bench.resend(2, 0))
        assert (sent.port, sent.bitmap, sent.values, sent.flags) == (SERVER, 0b111, bench.total(0), RESEND)
        bench.fill(8, (0, 1))
        sent = only(bench.resend(1, 8))
        assert (sent.port, sent.bitmap, sent.values) == (SERVER, 0b011, bench.total(8, (0, 1)))
        assert bench.partial == [(0, (1, 1, 1), "flushed"), (8, (1, 1, 0), "flushed")]
        assert bench.occupied() == []


def resent_result(programs: Programs) -> None:
    """A worker that has the sum answers a NACK with it: that goes on alone, and what is in the slot is not needed."""
    for bench in both(programs):
        bench.fill(0, (0, 1))
        sent = only(bench.resend(2, 0, bitmap0=0b111))
        assert (sent.port, sent.bitmap, sent.values) == (SERVER, 0b111, bench.values(2, 0))
        assert bench.partial == []
        assert bench.occupied() == []


def results_free_their_own_slot(programs: Programs) -> None:
    one, two = job_config(3), job_config(4, first=4)
    for bench in (Bench(programs.atp, one, two), Bench(programs.esa, one, two, knobs=ACK)):
        bench.fill(0, job=one)
        assert [s.port for s in bench.result(0, job=two)] == [4, 5, 6]
        assert [s.port for s in bench.result(8, job=one)] == [0, 1, 2]
        assert bench.occupied() == [0]
        assert [s.port for s in bench.result(0, job=one)] == [0, 1, 2]
        assert bench.occupied() == []


def a_result_frees_what_is_incomplete(programs: Programs) -> None:
    for bench in both(programs):
        bench.send(0, 0)
        assert len(bench.result(0)) == 3
        assert bench.occupied() == []


def a_repair_frees_and_passes(programs: Programs) -> None:
    """A result for one worker is for nobody else."""
    for bench in both(programs):
        bench.send(0, 0)
        sent = only(bench.result(0, (5, 6), to=1))
        assert (sent.port, sent.values, sent.dst_ip, sent.src_ip) == (1, [5, 6], member_ip(1), member_ip(SERVER))
        assert bench.occupied() == []


def an_overflow_is_not_final(programs: Programs) -> None:
    for bench in (atp(programs), esa(programs, knobs=ACK)):
        bench.fill(0)
        assert len(bench.result(0, flags=OVERFLOW)) == 3
        assert bench.occupied() == [0]
        assert {s.flags for s in bench.result(0, flags=OVERFLOW | RESEND)} == {OVERFLOW | RESEND}
        assert bench.occupied() == []


def results_keep_their_header(programs: Programs) -> None:
    """What a server says to workers (a new index after a collision) reaches them all."""
    for bench in both(programs):
        sent = bench.result(3, flags=COLLISION, new_slot=6)
        assert [(s.port, s.header.new_slot, s.flags) for s in sent] == [(port, 6, COLLISION) for port in (0, 1, 2)]


def congestion_is_carried(programs: Programs) -> None:
    """A mark on one contribution is on what leaves, also when it came before the last one, on a copy, or on a
    result."""
    for bench in (atp(programs), esa(programs, knobs=ACK)):
        bench.send(0, 0, ce=True)
        assert only(bench.fill(0, (1, 2))).flags == ECN
        assert only(bench.send(0, 0)).flags == ECN
        assert {s.flags for s in bench.result(0, ce=True)} == {ECN}
        assert only(bench.fill(8)).flags == 0
        assert only(bench.send(0, 16, ce=True, flags=COLLISION)).flags == COLLISION | ECN
        bench.send(0, 1)
        bench.send(0, 1, ce=True)
        assert only(bench.resend(0, 1)).flags == RESEND | ECN
        assert only(bench.send(0, 0, flags=ECN | RESEND)).flags == RESEND | ECN
    bench = esa(programs)
    bench.send(0, 0, ce=True)
    assert {s.flags for s in bench.fill(0, (1, 2))} == {ECN}
    assert {s.flags for s in bench.fill(8)} == {0}


def sums_wrap(programs: Programs) -> None:
    for bench in (atp(programs, workers=2), esa(programs, workers=2)):
        bench.send(0, 0, [2**31 - 1, -(2**31)])
        assert {(*s.values, s.flags) for s in bench.send(1, 0, [1, -1])} == {(-(2**31), 2**31 - 1, 0)}


def sums_saturate(programs: Programs) -> None:
    """And say so, to server and workers."""
    for make in programs:
        bench = Bench(make, job_config(workers=2, dtype="int32sat"))
        bench.send(0, 0, [2**31 - 1, -(2**31)])
        assert {(*s.values, s.flags) for s in bench.send(1, 0, [1, -1])} == {(2**31 - 1, -(2**31), OVERFLOW)}
        assert {s.flags for s in bench.fill(1, (0, 1))} == {0}
        bench.result(0, flags=RESEND)
        bench.send(0, 8, [2**31 - 1, 0])
        sent = only(bench.send(1, 8, [1, 0], flags=RESEND))
        assert (sent.values, sent.flags) == ([2**31 - 1, 0], OVERFLOW | RESEND)


def largest_exponents(programs: Programs) -> None:
    """Of each half its own; the next block knows nothing of them."""
    for bench in both(programs):
        for rank, exponents in enumerate([(-126, 5), (127, -7), (3, -128)]):
            sent = bench.send(rank, 0, exponents=exponents)
        assert {(s.header.exponent0, s.header.exponent1) for s in sent} == {(127, 5)}
        bench.result(0)
        sent = bench.fill(8, exponents=(-9, -9))
        assert {(s.header.exponent0, s.header.exponent1) for s in sent} == {(-9, -9)}
        bench.send(0, 1, exponents=(4, 1))
        sent = bench.resend(1, 1, exponents=(3, 2))
        assert {(s.header.exponent0, s.header.exponent1) for s in sent} == {(4, 2)}


def exponents_alone(programs: Programs) -> None:
    """The first window of floats has no elements yet."""
    for bench in both(programs):
        for rank in (0, 1, 2):
            sent = bench.send(rank, 0, [], kind=DatagramKind.EXPONENTS, exponents=(rank, -rank))
        assert {(s.header.exponent0, s.header.exponent1, len(s.values)) for s in sent} == {(2, 0, 0)}


CASES: dict[str, Callable[[Programs], None]] = {
    case.__name__: case
    for case in (
        basic_reduction,
        retransmit_after_reduction,
        other_set_reduction,
        both_sets_reduction,
        slot_reuse,
        ignore_retransmissions,
        retransmit_from_previous_set,
        slot_reuse_and_retransmit,
        other_traffic,
        different_ports_reduction,
        collision,
        a_marked_packet_is_not_aggregated,
        resend_never_allocates,
        resend_flushes,
        resent_result,
        results_free_their_own_slot,
        a_result_frees_what_is_incomplete,
        a_repair_frees_and_passes,
        an_overflow_is_not_final,
        results_keep_their_header,
        congestion_is_carried,
        sums_wrap,
        sums_saturate,
        largest_exponents,
        exponents_alone,
    )
}
