"""What ATP and ESA switches must do: ghosts, priorities, early release, reminders, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.support.aggregator_bench import ACK, EARLY, Bench, Programs, job_config
from tests.support.aggregator_cases import (
    COLLISION,
    ECN,
    EVICTED,
    RESEND,
    SERVER,
    atp,
    both,
    esa,
    finish_block,
    only,
)
from tests.support.switchml_bench import SERVICE_IP, member_ip, member_mac
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramFlag,
    DatagramKind,
    encode_datagram,
)

__all__ = ["MORE_CASES"]


def ghosts_are_reclaimed(programs: Programs) -> None:
    """A late copy opens a slot for a block that is complete; the next use of the index throws it out, and nothing of it
    is sent or in the next sum."""
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


def who_departs_leaves_its_slots(programs: Programs) -> None:
    """In the middle of a run: what the job had is empty for the others, and what it still sends passes on to its
    server."""
    one, two = job_config(3), job_config(4, first=4)
    for make, knobs in ((programs.atp, ACK), (programs.esa, EARLY), (programs.esa, ACK)):
        bench = Bench(make, one, two, knobs=knobs)
        bench.send(0, 5, job=one)
        bench.send(0, 6, job=two)
        assert only(bench.send(0, 5, job=two)).flags == COLLISION
        assert bench.program.depart(3)
        assert not bench.program.depart(3)
        assert bench.occupied() == [6]
        out = bench.fill(5, job=two)
        assert {tuple(s.values) for s in out} == {tuple(bench.total(5))}
        passed = only(bench.send(1, 5, job=one))
        assert (passed.port, passed.bitmap, passed.flags, passed.values) == (SERVER, 0b10, 0, bench.values(1, 5))
        assert [(told.job, told.open, told.peak_occupied) for told in bench.at_end()] == [(3, 1, 1), (4, 1, 2)]


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


MORE_CASES: dict[str, Callable[[Programs], None]] = {
    case.__name__: case
    for case in (
        ghosts_are_reclaimed,
        reclaim_follows_the_count,
        reclaim_needs_a_window,
        no_reclaim_without_the_knob,
        reclaim_is_of_one_job,
        a_ghost_is_no_leftover,
        copies_of_all_are_the_same_sum_again,
        who_departs_leaves_its_slots,
        preemption,
        a_tie_keeps_the_occupant,
        a_slot_has_its_highest_priority,
        atp_knows_no_priority,
        who_is_alone_preempts_nobody,
        ageing,
        early_release,
        a_kept_sum_can_be_evicted,
        reminders,
        no_reminders_without_the_knob,
        contradictions,
        bad_packets,
        results_come_from_the_server,
        memory_is_told,
        memory_is_told_until_the_last_packet,
    )
}
