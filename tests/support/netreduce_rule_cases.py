"""Directed cases for a NetReduce program beside the loss-case table: the rules learnt from unmodified endpoints, and
what else may happen. As in `netreduce_cases`, which has all of them.
"""

from __future__ import annotations

from dataclasses import replace

from switch_nodes.events import MessageAggregated, MessageInferred
from tests.support.netreduce_harness import Bench, Job, MakeProgram, Network
from workloads.wire import Bth, Nak, Opcode, Packet, decode_packet, encode_packet, icrc_is_valid

__all__ = ["RULE_CASES"]


def rule_a_new_hole(make: MakeProgram) -> None:
    """When the head comes to another hole, what waits behind leaves early where THAT one's packet is missing."""
    bench = Bench(Job(), make)
    bench.run_through(1)
    bench.everyone(1, 0)
    assert bench.everyone(1, 1, but=[1]) == []
    assert bench.everyone(1, 2, but=[2]) == []
    assert bench.everyone(1, 3) == [(1, 1, 3)]
    assert bench.data(1, 1, 1) == [*bench.all_of(1, 1), (2, 1, 3)]
    assert bench.data(2, 1, 2) == [*bench.all_of(1, 2), (0, 1, 3)]


def rule_a_across_messages(make: MakeProgram) -> None:
    bench = Bench(Job(lengths=(1, 2, 4)), make)
    bench.run_through(1)
    assert bench.everyone(1, 0) == bench.all_of(1, 0)
    assert bench.everyone(1, 1, but=[0]) == []
    assert bench.everyone(2, 0) == [(0, 2, 0)]
    assert bench.everyone(2, 1) == [(0, 2, 1)]
    assert bench.data(0, 1, 1) == [*bench.all_of(1, 1), *((rank, 2, offset) for offset in (0, 1) for rank in (1, 2))]


def rule_a_held_result_is_not_replayed(make: MakeProgram) -> None:
    """A duplicate of a complete slot that waits for its turn is absorbed: its receiver must not see a gap."""
    bench = Bench(Job(), make)
    bench.run_through(1)
    bench.everyone(1, 0)
    bench.everyone(1, 1, but=[1])
    bench.everyone(1, 2)
    assert bench.data(0, 1, 2) == []
    assert bench.reasons() == ["duplicate"]
    assert bench.data(1, 1, 2) == [(1, 1, 2)]
    assert bench.data(1, 1, 1) == [*bench.all_of(1, 1), (0, 1, 2), (2, 1, 2)]


def rule_a_everybody_missing(make: MakeProgram) -> None:
    bench = Bench(Job(), make)
    bench.run_through(1)
    bench.everyone(1, 0)
    assert bench.everyone(1, 2) == bench.all_of(1, 2)


def rule_b_after_a_short_message(make: MakeProgram) -> None:
    """The last message of a collective is short, the next one is not: lost FIRSTs of both are inferred right."""
    bench = Bench(Job(lengths=(1, 4, 2, 4, 3)), make)
    bench.run_through(2)
    assert bench.everyone(2, 0, but=[1]) == []
    assert bench.everyone(2, 1) == [(1, 2, 1)]
    assert bench.everyone(3, 0, but=[1]) == []
    assert bench.everyone(3, 1) == [(1, 3, 1)]
    assert bench.take(MessageInferred) == [MessageInferred(7, 1, 2, 1), MessageInferred(7, 1, 3, 1)]
    assert bench.data(1, 2, 0) == [*bench.all_of(2, 0), (0, 2, 1), (2, 2, 1)]
    assert bench.data(1, 3, 0) == [*bench.all_of(3, 0), (0, 3, 1), (2, 3, 1)]


def rule_b_needs_an_announced_length(make: MakeProgram) -> None:
    """Nobody announced the next message: a MIDDLE of it could as well belong to the one behind it."""
    bench = Bench(Job(lengths=(1, 4, 2, 4)), make)
    bench.run_through(2)
    assert bench.data(1, 2, 1) == []
    assert bench.reasons() == ["nofirst"]
    assert bench.data(0, 2, 0) == []
    assert bench.data(1, 3, 1) == []  # message 2 has two packets: this one lies behind it
    assert bench.reasons() == ["nofirst"]
    assert bench.data(1, 2, 1) == []
    assert bench.take(MessageInferred) == [MessageInferred(7, 1, 2, 1)]


def rule_c_never_raw(make: MakeProgram) -> None:
    """INA data that the table cannot place is dropped, not forwarded."""
    job = Job()
    bench = Bench(job, make)
    assert bench.data(0, 1, 1) == []  # nothing known of the connection
    bench.run_through(2)
    assert bench.data(0, 1, 1, psn=job.psn(0, 3, 3) + 5 & 0xFFFFFF) == []
    assert bench.data(0, 1, 1, psn=job.psn(0, 0, 0) - 5 & 0xFFFFFF) == []
    assert bench.data(0, 3, 1) == []
    assert bench.reasons() == ["nofirst"] * 4
    assert bench.counters()["bypassed"] == 0


def rule_d_hello(make: MakeProgram) -> None:
    """Message 0 is a header without elements, aggregated like any; nothing passes raw when it is lost."""
    job = Job()
    bench = Bench(job, make)
    assert bench.everyone(0, 0, but=[1]) == []
    assert bench.data(1, 1, 1) == []
    assert bench.data(1, 0, 0) == bench.all_of(0, 0)
    assert bench.take(MessageAggregated) == [MessageAggregated(7, 0, 1, (1, 1, 1))]


def rule_i_plain_message_between(make: MakeProgram) -> None:
    """A message without header on an INA connection passes as it is; its packets are not taken for the next message,
    even though another rank announced that one."""
    job = Job(lengths=(1, 4, 4, 4, 4))
    bench = Bench(job, make)
    bench.run_through(2)
    plain = [
        encode_packet(replace(job.packet(1, 2, offset), payload=b"p" * 256)) for offset in range(4)
    ]  # fmt: skip
    assert bench.data(0, 2, 0) == []
    for frame in plain:
        assert bench.feed(frame, job.port(1)) == [(job.port(2), frame)]
    assert bench.feed(plain[2], job.port(1)) == [(job.port(2), plain[2])]
    assert bench.data(1, 1, 3) == [(1, 1, 3)]
    assert bench.counters()["inferred"] == 0


def result_lost_while_others_go_on(make: MakeProgram) -> None:
    """Host 1 has not got the result of message 1 when a faster host opens message 1 + N: it must still be replayed."""
    bench = Bench(Job(lengths=(1, 4, 4, 4)), make)
    bench.run_through(3)
    assert bench.data(2, 3, 0) == []
    assert bench.data(0, 1, 0) == [(0, 1, 0)]
    assert bench.data(0, 1, 3) == [(0, 1, 3)]


def results_lost_in_the_network(make: MakeProgram) -> None:
    """Every result of one message is lost on one connection; the window goes on as far as credit lets it."""
    job = Job(size=3, lengths=(1, 4, 4, 4, 4, 4))
    network = Network(job, make)
    lost = {job.result(0, 1, offset) for offset in range(4)}
    while lost:
        network.step_with_losses(lost)
    network.settle()
    network.check_end()


def short_messages_leave_no_slots_behind(make: MakeProgram) -> None:
    """A short message uses few slots; the others must move on all the same, whatever the message before them used."""
    for lengths in ((1, 4, 1, 1, 4, 4, 4, 4, 4), (2, 4, 4, 2, 2, 4, 4, 1, 3, 4, 4, 4, 4), (4, 1, 4, 1, 4, 1, 4, 4, 4)):
        network = Network(Job(lengths=lengths, hello=False), make)
        network.settle()
        network.check_end()


def psn_wrap_inside_a_message(make: MakeProgram) -> None:
    """2N messages of 5 packets are 20 slots, and 20 does not divide 2^24."""
    job = Job(lengths=(1, 5, 5, 5, 5, 5, 5, 5), message_packets=5, start_psn=0xFFFFF6)
    bench = Bench(job, make)
    bench.run_through(8)
    assert bench.reasons() == []
    network = Network(job, make)
    network.settle()
    network.check_end()


def retransmitted_header_counts(make: MakeProgram) -> None:
    """AckReq may have moved in a retransmission: the result carries what came last."""
    job = Job()
    bench = Bench(job, make)
    bench.run_through(1)
    bench.data(0, 1, 0)
    bench.data(0, 1, 0, ack_req=1)
    bench.data(1, 1, 0)
    sent = bench.feed(job.frame(2, 1, 0), job.port(2))
    requested = [packet.bth.ack_req for packet in (decode_packet(frame) for _, frame in sent) if packet is not None]
    assert requested == [1, 0, 0]
    assert all(icrc_is_valid(frame) for _, frame in sent)


def congestion_mark_reaches_all(make: MakeProgram) -> None:
    """CE of one contribution is on every result that can carry it, and on the replays."""
    for ipv6 in (False, True):
        job = Job(ipv6=ipv6)
        bench = Bench(job, make)
        bench.run_through(1)

        def feed(rank: int, tos: int, bench: Bench = bench, job: Job = job) -> list[bytes]:
            packet = job.packet(rank, 1, 0)
            frame = encode_packet(replace(packet, envelope=replace(packet.envelope, tos=tos)))
            return [sent for _, sent in bench.feed(frame, job.port(rank))]

        assert feed(0, 0xB8 | 3) == feed(1, 0xB8 | 2) == []
        sent = feed(2, 0xB8)
        packets = [decode_packet(frame) for frame in sent]
        assert [packet.envelope.tos for packet in packets if packet is not None] == [0xBB, 0xBB, 0xB8]
        assert all(icrc_is_valid(frame) for frame in sent)
        replayed = decode_packet(feed(1, 0xB8 | 1)[0])
        assert replayed is not None
        assert replayed.envelope.tos == 0xBB
        assert bench.everyone(1, 1) == bench.all_of(1, 1)


def answers_pass_untouched(make: MakeProgram) -> None:
    """ACK, NAK and CNP of the ring's own connections cross as they are, and the switch adds none."""
    job = Job()
    bench = Bench(job, make)
    bench.run_through(1)
    for syndrome in (0x1F, int(Nak.PSN_SEQUENCE), 0x2C):
        frame = job.answer(0, 5, 1, syndrome)
        assert bench.feed(frame, job.port(1)) == [(job.port(0), frame)]
    forward = job.packet(0, 1, 0)
    cnp = encode_packet(Packet(forward.envelope, Bth(Opcode.CNP, job.qpn(0), 0, becn=1)))
    assert bench.feed(cnp, job.port(0)) == [(job.port(1), cnp)]


RULE_CASES = {
    function.__name__: function
    for function in (
        rule_a_new_hole,
        rule_a_across_messages,
        rule_a_held_result_is_not_replayed,
        rule_a_everybody_missing,
        rule_b_after_a_short_message,
        rule_b_needs_an_announced_length,
        rule_c_never_raw,
        rule_d_hello,
        rule_i_plain_message_between,
        result_lost_while_others_go_on,
        results_lost_in_the_network,
        short_messages_leave_no_slots_behind,
        psn_wrap_inside_a_message,
        retransmitted_header_counts,
        congestion_mark_reaches_all,
        answers_pass_untouched,
    )
}
