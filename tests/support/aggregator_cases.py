"""What ATP and ESA switches must do, case by case; each takes the two programs that it tries.

The first nine have the names of the packet tests of `microsoft/SwitchML` (`docs/switchml.md`, "Regression list"): what they
mean for slots that a server's result frees, and for slots that a complete sum frees by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.support.aggregator_bench import ACK, EARLY, Bench, Programs, Sent, job_config
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

__all__ = ["CASES"]

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


# The regression list


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


# Slots, first come first served


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
    """A mark on one contribution is on what leaves, also when it came before the last one, on a copy, or on a result."""
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


# Reclaim and ghosts


def ghosts_are_reclaimed(programs: Programs) -> None:
    """A late copy opens a slot for a block that is complete; the next use of the index throws it out, and nothing of it is
    sent or in the next sum."""
    for bench in both(programs):
        finish_block(bench, 0)
        assert bench.send(1, 0) == []
        assert bench.occupied() == [0]
        finish_block(bench, 8)
        assert bench.collided == []
        assert bench.occupied() == []
        assert [block for block, *_ in bench.partial] == [0, 8]


def reclaim_follows_the_count(programs: Programs) -> None:
    """Newer is modulo 2^32; a newer tensor is newer, whatever the number; older packets collide."""
    last = (1 << 32) - 8
    for bench in both(programs):
        bench.send(0, last)
        assert bench.send(0, 0) == []
        assert [s.flags for s in bench.send(1, last)] == [COLLISION]
        assert bench.send(0, 0, tensor=1) == []
        assert [s.flags for s in bench.send(1, last, tensor=0)] == [COLLISION]
        assert bench.collided == [(7, last, 7, 0)] * 2


def reclaim_needs_a_window(programs: Programs) -> None:
    """Blocks that may be outstanding together are no successors of one another."""
    for make in programs:
        bench = Bench(make, job_config(window=9))
        bench.send(0, 0)
        assert only(bench.send(0, 8)).flags == COLLISION
        bench = Bench(make, job_config(window=8))
        bench.send(0, 0)
        assert bench.send(0, 8) == []


def no_reclaim_without_the_knob(programs: Programs) -> None:
    for make in programs:
        bench = Bench(make, knobs=replace(EARLY, reclaim=False))
        bench.send(0, 0)
        assert only(bench.send(0, 8)).flags == COLLISION


def reclaim_is_of_one_job(programs: Programs) -> None:
    one, two = job_config(3), job_config(4, first=4)
    for make in programs:
        bench = Bench(make, one, two)
        bench.send(0, 0, job=one)
        assert only(bench.send(0, 8, job=two)).flags == COLLISION


def a_ghost_is_no_leftover(programs: Programs) -> None:
    """A block that never ended is one."""
    for bench in both(programs):
        finish_block(bench, 0)
        bench.send(1, 0)
        assert bench.at_end()[0].open == 0
        assert bench.program.counters["ghosts_at_end"] == 1
    for bench in both(programs):
        bench.send(1, 0)
        assert bench.at_end()[0].open == 1


def copies_of_all_are_the_same_sum_again(programs: Programs) -> None:
    bench = esa(programs)
    first = bench.fill(0)
    assert bench.fill(0) == first
    assert bench.summed == [(0, (1, 1, 1))]
    assert [reason for *_, reason in bench.partial] == ["complete", "repeated"]


# ESA


def preemption(programs: Programs) -> None:
    """One in, one out: the occupant leaves for its own server, with all that it has, and the newcomer is served."""
    one, two = job_config(3), job_config(4, first=4)
    for knobs in (EARLY, ACK):
        bench = Bench(programs.esa, one, two, knobs=knobs)
        bench.send(0, 5, job=one, priority=3, exponents=(7, -3))
        bench.send(2, 5, job=one, priority=2, exponents=(1, 1), ce=True)
        sent = only(bench.send(1, 13, job=two, priority=4))
        assert (sent.port, sent.bitmap, sent.flags) == (SERVER, 0b101, EVICTED | ECN)
        assert sent.values == bench.total(5, (0, 2))
        assert (sent.src_ip, sent.dst_ip) == (SERVICE_IP, member_ip(SERVER))
        h = sent.header
        assert (h.kind, h.job, h.sequence, h.slot, h.priority) == (DatagramKind.DATA, 3, 6, 5, 3)
        assert (h.exponent0, h.exponent1, h.fan_in0) == (7, 1, 3)
        assert bench.partial == [(5, (1, 0, 1), "evicted")]
        assert bench.collided == []
        out = bench.fill(13, (0, 2), job=two, priority=4)
        assert {tuple(s.values) for s in out} == {tuple(bench.total(13))}


def a_tie_keeps_the_occupant(programs: Programs) -> None:
    one, two = job_config(3), job_config(4, first=4)
    bench = Bench(programs.esa, one, two)
    bench.send(0, 0, job=one, priority=5)
    for priority in (5, 4):
        sent = only(bench.send(0, 0, job=two, priority=priority))
        assert (sent.port, sent.flags, sent.bitmap) == (7, COLLISION, 0b001)


def a_slot_has_its_highest_priority(programs: Programs) -> None:
    one, two = job_config(3), job_config(4, first=4)
    for packets in (((0, 8), (1, 2)), ((0, 2), (1, 6), (1, 8), (0, 1))):
        bench = Bench(programs.esa, one, two)
        for rank, priority in packets:
            bench.send(rank, 0, job=one, priority=priority)
        assert only(bench.send(0, 0, job=two, priority=8)).flags == COLLISION
        assert only(bench.send(0, 0, job=two, priority=9)).flags == EVICTED


def atp_knows_no_priority(programs: Programs) -> None:
    one, two = job_config(3), job_config(4, first=4)
    for bench in (Bench(programs.atp, one, two), Bench(programs.esa, one, two, knobs=replace(EARLY, preempt=False))):
        bench.send(0, 0, job=one, priority=1)
        assert only(bench.send(0, 0, job=two, priority=200)).flags == COLLISION


def who_is_alone_preempts_nobody(programs: Programs) -> None:
    """A job of one worker completes with each packet: it would be one in, two out."""
    one, two = job_config(3), job_config(4, first=4, workers=1)
    for knobs in (EARLY, ACK):
        bench = Bench(programs.esa, one, two, knobs=knobs)
        bench.send(0, 0, job=one, priority=1)
        assert [(s.port, s.flags) for s in bench.send(0, 0, job=two, priority=9)] == [(5, COLLISION)]


def ageing(programs: Programs) -> None:
    """A collision lowers the occupant; it may fall to 0, and its own packets lift it again."""
    one, two = job_config(3), job_config(4, first=4)
    for age, collisions in (("minus1", 6), ("shift1", 2)):
        bench = Bench(programs.esa, one, two, knobs=replace(EARLY, age=age))
        bench.send(0, 0, job=one, priority=9)
        for _ in range(collisions):
            assert only(bench.send(0, 0, job=two, priority=3)).flags == COLLISION
        assert only(bench.send(0, 0, job=two, priority=3)).flags == (COLLISION if age == "minus1" else EVICTED)
        bench = Bench(programs.esa, one, two, knobs=replace(EARLY, age=age))
        bench.send(0, 0, job=one, priority=1)
        for _ in range(3):
            assert only(bench.send(0, 0, job=two, priority=0)).flags == COLLISION
        assert only(bench.send(0, 0, job=two, priority=1)).flags == EVICTED
    bench = Bench(programs.esa, one, two)
    bench.send(0, 0, job=one, priority=9)
    assert {only(bench.send(0, 0, job=two, priority=8)).flags for _ in range(20)} == {COLLISION}


def early_release(programs: Programs) -> None:
    """The slot is free before anybody has answered; without `ps_copy` the server gets nothing."""
    one, two = job_config(3), job_config(4, first=4)
    bench = Bench(programs.esa, one, two, knobs=replace(EARLY, ps_copy=False))
    out = bench.fill(0, job=one)
    assert [(s.port, s.kind, s.bitmap, s.flags) for s in out] == [(p, DatagramKind.RESULT, 0b111, 0) for p in (0, 1, 2)]
    assert bench.partial == []
    assert bench.send(0, 0, job=two) == []
    assert bench.collided == []


def a_kept_sum_can_be_evicted(programs: Programs) -> None:
    one, two = job_config(3), job_config(4, first=4)
    bench = Bench(programs.esa, one, two, knobs=ACK)
    bench.fill(0, job=one)
    sent = only(bench.send(0, 0, job=two, priority=1))
    assert (sent.port, sent.bitmap, sent.flags, sent.values) == (SERVER, 0b111, EVICTED, bench.total(0))


def reminders(programs: Programs) -> None:
    """They bring what is in a slot of the block, or the answer that there is nothing, and leave other slots alone."""
    one, two = job_config(3), job_config(4, first=4)
    for knobs in (EARLY, ACK):
        bench = Bench(programs.esa, one, two, knobs=knobs)
        bench.fill(0, (0, 2), job=one)
        for block, job, port in ((0, two, 7), (8, one, SERVER)):
            sent = only(bench.remind(block, job=job))
            assert (sent.port, sent.kind, sent.bitmap, sent.values) == (port, DatagramKind.REMINDER_EMPTY, 0, [])
            assert (sent.header.job, sent.header.sequence) == (job.job, block + 1)
        assert bench.occupied() == [0]
        sent = only(bench.remind(0, job=one))
        assert (sent.port, sent.kind, sent.bitmap, sent.flags) == (SERVER, DatagramKind.DATA, 0b101, EVICTED)
        assert sent.values == bench.total(0, (0, 2))
        assert bench.partial == [(0, (1, 0, 1), "reminded")]
        assert bench.occupied() == []
        assert only(bench.remind(0, job=one)).kind == DatagramKind.REMINDER_EMPTY


def no_reminders_without_the_knob(programs: Programs) -> None:
    for bench in (atp(programs), esa(programs, knobs=replace(EARLY, reminder=False))):
        bench.send(0, 0)
        assert bench.remind(0) == []
        assert bench.reasons == ["unexpected"]
        assert bench.occupied() == [0]


# What comes in


def contradictions(programs: Programs) -> None:
    """Another size than what is in the slot."""
    for bench in both(programs):
        bench.send(0, 0)
        assert bench.send(1, 0, [1, 2, 3]) == bench.send(1, 0, [1, 2, 3], flags=RESEND) == []
        assert bench.reasons == ["mismatch", "mismatch"]
        assert bench.occupied() == [0]


def bad_packets(programs: Programs) -> None:
    for bench in both(programs):
        assert bench.give(1, bench.frame(0, 0)) == []
        damaged = bytearray(bench.frame(0, 0))
        damaged[-1] ^= 1
        assert bench.give(0, bytes(damaged)) == []
        for changes in (
            {"slot": 8}, {"bitmap0": 2}, {"bitmap0": 3}, {"bitmap0": 0}, {"bitmap0": 8}, {"fan_in0": 4}, {"fan_in1": 1},
            {"op": 1}, {"bitmap0": 0b011, "flags": RESEND}, {"flags": int(DatagramFlag.EDGE)},
        ):  # fmt: skip
            assert bench.give(0, bench.frame(0, 0, **changes)) == []
        assert bench.give(0, bench.frame(0, 0, list(range(9)))) == []
        assert bench.result(0, slot=8) == []
        assert bench.reasons == ["wrong_port", "checksum", "bad_slot", *["malformed"] * 10, "bad_slot"]
        finish_block(bench, 0)


def results_come_from_the_server(programs: Programs) -> None:
    for bench in both(programs):
        header = AggregationHeader(bench.policy, DatagramKind.RESULT, 7, 1, 0, 7, 3)
        bench.send(0, 0)
        for ip, port in ((member_ip(1), 1), (SERVICE_IP, SERVER), (member_ip(SERVER), 1)):
            envelope = Envelope(member_mac(1), member_mac(2), ip, SERVICE_IP)
            assert bench.give(port, encode_datagram(envelope, AGGREGATION_PORT, header, b"")) == []
        assert bench.reasons == ["malformed", "malformed", "wrong_port"]
        assert bench.occupied() == [0]


def memory_is_told(programs: Programs) -> None:
    one, two = job_config(3), job_config(4, first=4)
    bench = Bench(programs.esa, one, two, knobs=ACK)
    bench.fill(0, job=one)
    bench.send(0, 1, job=one)
    bench.send(0, 2, job=two)
    first, second = bench.at_end()
    assert (first.first_slot, first.slots, first.values, first.open, first.peak_occupied) == (0, 8, 8, 1, 2)
    assert (first.busy_ns, first.useful_ns) == (3000, 2000)
    assert (second.job, second.open, second.peak_occupied, second.busy_ns, second.useful_ns) == (4, 1, 1, 0, 0)


def memory_is_told_until_the_last_packet(programs: Programs) -> None:
    """What is left counts no longer than its job; what was evicted after that, until then."""
    one, two = job_config(3), job_config(4, first=4)
    for evicted in (False, True):
        bench = Bench(programs.esa, one, two)
        bench.send(0, 0, job=one)
        bench.send(0, 1, job=one)
        bench.send(0, 2, job=two)
        bench.send(0, 1 if evicted else 3, job=two, priority=5)
        assert bench.at_end()[0].busy_ns == (1000 + 2 * 2000 if evicted else 1000)


CASES: dict[str, Callable[[Programs], None]] = {
    case.__name__: case
    for case in (
        basic_reduction, retransmit_after_reduction, other_set_reduction, both_sets_reduction, slot_reuse,
        ignore_retransmissions, retransmit_from_previous_set, slot_reuse_and_retransmit, other_traffic,
        different_ports_reduction, collision, a_marked_packet_is_not_aggregated, resend_never_allocates, resend_flushes,
        resent_result, results_free_their_own_slot, a_result_frees_what_is_incomplete, a_repair_frees_and_passes,
        an_overflow_is_not_final, results_keep_their_header, congestion_is_carried, sums_wrap, sums_saturate,
        largest_exponents, exponents_alone, ghosts_are_reclaimed, reclaim_follows_the_count, reclaim_needs_a_window, no_reclaim_without_the_knob,
        reclaim_is_of_one_job, a_ghost_is_no_leftover, copies_of_all_are_the_same_sum_again, preemption,
        a_tie_keeps_the_occupant, a_slot_has_its_highest_priority, atp_knows_no_priority, who_is_alone_preempts_nobody,
        ageing, early_release, a_kept_sum_can_be_evicted, reminders, no_reminders_without_the_knob, contradictions,
        bad_packets, results_come_from_the_server, memory_is_told, memory_is_told_until_the_last_packet,
    )
}  # fmt: skip
