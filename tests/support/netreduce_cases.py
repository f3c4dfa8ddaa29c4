"""Directed cases for a NetReduce program: the loss-case table, the rules learnt from unmodified endpoints, reclamation.

Each is a function of a program factory and fails with AssertionError, so that the same cases judge the real program
and the broken ones of `netreduce_mutants`.
"""

from __future__ import annotations

from dataclasses import replace

from switch_nodes.events import MessageAggregated, MessageInferred, ResultReplayed
from tests.support.netreduce_harness import Bench, Job, MakeProgram, Network
from workloads.wire import Bth, Nak, Opcode, Packet, decode_packet, encode_packet, icrc_is_valid

OTHER_QPN = 0x777


def lossless(make: MakeProgram) -> None:
    """Every rank's packet leaves on its own connection with the sum, once, when the last one came."""
    job = Job(lengths=(1, 4, 4, 3, 4, 4, 1, 4, 4))
    bench = Bench(job, make)
    for message, offset in job.places():
        frames = [job.frame(rank, message, offset) for rank in range(job.size)]
        assert bench.feed(frames[0], job.port(0)) == []
        assert bench.feed(frames[1], job.port(1)) == []
        sent = bench.feed(frames[2], job.port(2))
        assert sent == [(job.port((rank + 1) % 3), job.result(rank, message, offset)) for rank in range(3)]
    assert bench.counters()["overrun"] == bench.counters()["stale"] == 0


def lossless_network(make: MakeProgram) -> None:
    network = Network(Job(size=4, lengths=(1, 4, 4, 2, 4, 4, 4)), make)
    network.settle()
    network.check_end()
    assert all(set(host.transmissions.values()) == {1} for host in network.hosts)


def row_1_data_lost(make: MakeProgram) -> None:
    """Past the hole, results leave early on the losing connection only; the missing packet frees the rest, in order."""
    bench = Bench(Job(), make)
    bench.run_through(1)
    assert bench.everyone(1, 0) == bench.all_of(1, 0)
    assert bench.everyone(1, 1, but=[1]) == []
    assert bench.everyone(1, 2) == [(1, 1, 2)]
    assert bench.everyone(1, 3) == [(1, 1, 3)]
    assert bench.data(1, 1, 1) == [*bench.all_of(1, 1), (0, 1, 2), (2, 1, 2), (0, 1, 3), (2, 1, 3)]
    assert bench.data(1, 1, 2) == [(1, 1, 2)]  # its receiver threw the early one away


def row_1_only_the_loser_goes_back(make: MakeProgram) -> None:
    network = Network(Job(size=4, lengths=(1, 4, 4, 4, 4)), make)
    loser = network.hosts[2]
    while loser.nxt < 7:  # up to (2, 2)
        before = loser.nxt
        network.send(2)
        if loser.nxt == before:
            network.step()
    network.up[2].pop()
    network.settle()
    network.check_end()
    assert loser.went_back == 1
    assert loser.transmissions[6] == 2
    innocent = [host for host in network.hosts if host is not loser]
    assert all(set(host.transmissions.values()) == {1} for host in innocent), "an innocent host sent again"


def tail_finished_before_going_back(make: MakeProgram) -> None:
    """rdma_rxe may finish a WRITE, and begin the next message, before it heeds a NAK: what comes behind the hole is taken, once,
    and what then comes again is answered, not added."""
    bench = Bench(Job(), make)
    bench.run_through(1)
    assert bench.everyone(1, 0) == bench.all_of(1, 0)
    assert bench.everyone(1, 1, but=[1]) == []
    tail = [(1, 2), (1, 3), (2, 0), (2, 1)]
    early = [bench.everyone(*place) for place in tail]
    assert early == [[(1, *place)] for place in tail]  # the losing connection's receiver sees the gap, nobody else does
    freed = [(0, *place) for place in tail] + [(2, *place) for place in tail]
    assert sorted(bench.data(1, 1, 1)) == sorted([*bench.all_of(1, 1), *freed])
    for place in tail:
        assert bench.data(1, *place) == [(1, *place)]
    for place in [(2, 2), (2, 3)]:
        assert bench.everyone(*place) == bench.all_of(*place)
    bench.run_after(3)
    assert bench.counters()["overrun"] == bench.counters()["stale"] == 0


def row_2_result_lost(make: MakeProgram) -> None:
    """A duplicate of a done slot is answered with the value, on its own connection, once per duplicate."""
    bench = Bench(Job(), make)
    bench.run_through(2)
    assert bench.data(1, 1, 2) == [(1, 1, 2)]
    assert bench.data(1, 1, 3) == [(1, 1, 3)]
    assert bench.data(1, 1, 3) == [(1, 1, 3)]
    assert bench.take(ResultReplayed) == [ResultReplayed(7, 1, 1, off) for off in (2, 3, 3)]
    assert bench.counters()["replayed"] == 3


def row_2_replay_has_the_new_packets_header(make: MakeProgram) -> None:
    bench = Bench(Job(), make)
    bench.run_through(2)
    sent = bench.feed(bench.job.frame(1, 1, 2, ack_req=1), bench.job.port(1))
    packet = decode_packet(sent[0][1])
    assert packet is not None
    assert packet.bth.ack_req == 1
    assert icrc_is_valid(sent[0][1])


def row_3_retransmission_lost_again(make: MakeProgram) -> None:
    """No second NAK comes for the gap: the timer of the sender recovers it."""
    job = Job(size=3, lengths=(1, 4, 4, 4))
    network = Network(job, make)
    lost = job.frame(0, 2, 1)
    for _ in range(60):
        network.step()
        for host in network.hosts:
            while host.can_send():
                network.send(host.rank)
        if network.hosts[0].transmissions[6] < 2 and lost in network.up[0]:
            network.up[0].remove(lost)
        elif network.hosts[0].transmissions[6] == 2 and lost in network.up[0]:
            network.up[0].remove(lost)
            break
    else:
        raise AssertionError("the retransmission was never sent")
    network.settle()
    network.check_end()
    assert network.hosts[0].transmissions[6] == 3


def row_4_ack_lost_at_the_tail(make: MakeProgram) -> None:
    """The timer sends again what was delivered; the switch replays, the receiver acknowledges again."""
    job = Job(lengths=(1, 4))
    network = Network(job, make)
    while network.hosts[1].expected < 5:
        network.step()
    sender = network.hosts[0]
    sender.una = sender.nxt = 3
    sender.nxt = 5
    sender.timeout()
    network.settle()
    network.check_end()
    assert sender.transmissions[3] == sender.transmissions[4] == 2
    assert network.bench.take(ResultReplayed) == [ResultReplayed(7, 0, 1, 2), ResultReplayed(7, 0, 1, 3)]


def row_5_first_lost(make: MakeProgram) -> None:
    """Its MIDDLEs are placed by the message before them and count; only slot 0 stays open."""
    bench = Bench(Job(), make)
    bench.run_through(1)
    assert bench.everyone(1, 0, but=[1]) == []
    for offset in (1, 2, 3):
        assert bench.everyone(1, offset) == [(1, 1, offset)]
    assert bench.take(MessageInferred) == [MessageInferred(7, 1, 1, 1)]
    assert bench.program.rings[7].open_slots == 1
    sent = bench.data(1, 1, 0)
    assert sent == [*bench.all_of(1, 0), *((rank, 1, offset) for offset in (1, 2, 3) for rank in (0, 2))]
    assert bench.reasons() == []


def row_6_only_packet_of_the_last_message_lost(make: MakeProgram) -> None:
    """Nothing shows the gap; the timers of all senders fire and only the missing one completes the slot."""
    bench = Bench(Job(lengths=(1, 4, 1)), make)
    bench.run_through(2)
    assert bench.everyone(2, 0, but=[0]) == []
    assert bench.everyone(2, 0, but=[0]) == []
    assert bench.reasons() == ["duplicate", "duplicate"]
    assert bench.data(0, 2, 0) == bench.all_of(2, 0)


def row_7_last_lost(make: MakeProgram) -> None:
    bench = Bench(Job(lengths=(1, 4)), make)
    bench.run_through(1)
    for offset in range(3):
        bench.everyone(1, offset)
    assert bench.everyone(1, 3, but=[2]) == []
    assert bench.everyone(1, 3, but=[2]) == []
    assert bench.data(2, 1, 3) == bench.all_of(1, 3)
    assert bench.take(MessageAggregated)[-1] == MessageAggregated(7, 1, 4, (4, 4, 4))


def row_8_reclaimed_message(make: MakeProgram) -> None:
    """Rule E: N messages later the duplicate goes on raw, so that its receiver acknowledges again; before, replay."""
    job = Job(lengths=(1, 4, 4, 4, 4))
    bench = Bench(job, make)
    bench.run_through(3)
    assert bench.data(0, 1, 2) == [(0, 1, 2)]
    for offset in range(4):
        bench.everyone(3, offset)
    raw = job.frame(0, 1, 2)
    assert bench.feed(raw, job.port(0)) == [(job.port(1), raw)]
    assert bench.reasons() == ["stale_forwarded"]


def row_8_stale_before_the_message_is_complete(make: MakeProgram) -> None:
    """A slot that is cleared already, of a message whose delivery is not proven yet: dropped, and in no later sum."""
    job = Job(lengths=(1, 4, 4, 4, 4, 4))
    bench = Bench(job, make)
    bench.run_through(3)
    assert bench.everyone(3, 0) == bench.all_of(3, 0)
    assert bench.data(0, 1, 0) == []
    for message in (3, 4, 5):
        for offset in range(1 if message == 3 else 0, 4):
            assert bench.everyone(message, offset) == bench.all_of(message, offset)
    assert bench.reasons() == ["stale"]
    assert [event.contributions for event in bench.take(MessageAggregated)] == [(1,) * 3] + [(4,) * 3] * 5


def row_9_duplicates_without_loss(make: MakeProgram) -> None:
    bench = Bench(Job(), make)
    bench.run_through(1)
    assert bench.data(0, 1, 0) == []
    assert bench.data(0, 1, 0) == []
    assert bench.reasons() == ["duplicate"]
    assert bench.everyone(1, 0, but=[0]) == bench.all_of(1, 0)
    assert bench.data(0, 1, 0) == [(0, 1, 0)]


def row_10_corrupted(make: MakeProgram) -> None:
    """Rule F: a contribution with a wrong iCRC is lost, whichever byte is damaged."""
    job = Job()
    bench = Bench(job, make)
    bench.run_through(1)
    frame = job.frame(0, 1, 0)
    for index in (14 + 20 + 8 + 12 + 16, len(frame) - 8, len(frame) - 1, 14 + 20 + 8 + 11):
        damaged = bytearray(frame)
        damaged[index] ^= 0x10
        assert bench.feed(bytes(damaged), job.port(0)) == []
    assert bench.reasons() == ["icrc"] * 4
    assert bench.everyone(1, 0) == bench.all_of(1, 0)


def row_11_straggler(make: MakeProgram) -> None:
    """All hold; what the others send again while they wait is absorbed, and counts once."""
    bench = Bench(Job(), make)
    bench.run_through(1)
    for _ in range(3):
        for offset in range(4):
            assert bench.everyone(1, offset, but=[2]) == []
    assert set(bench.reasons()) == {"duplicate"}
    for offset in range(4):
        assert bench.data(2, 1, offset) == bench.all_of(1, offset)
    assert bench.take(MessageAggregated)[-1] == MessageAggregated(7, 1, 4, (4, 4, 4))


def row_12_restart(make: MakeProgram) -> None:
    """A switch that forgot everything passes no INA data raw and makes no wrong sum."""
    job = Job(lengths=(1, 4, 4, 4, 4, 4))
    before = Bench(job, make)
    before.run_through(4)
    bench = Bench(job, make)
    for offset in (1, 2, 3):
        assert bench.everyone(4, offset) == []
    assert set(bench.reasons()) == {"nofirst"}
    for offset in range(4):
        assert bench.everyone(4, offset) == []  # message 4 where the slots serve messages 0 .. 3
    assert bench.reasons()[0] == "overrun"


def row_13_new_qpn(make: MakeProgram) -> None:
    """Another QPN of the same edge starts at message 0 without a new installation: nothing of it passes."""
    job = Job(lengths=(1, 4, 4, 4, 4))
    bench = Bench(job, make)
    bench.run_through(5)
    for message, offset in ((0, 0), (1, 0), (1, 1)):
        assert bench.data(0, message, offset, dest_qpn=OTHER_QPN) == []
    assert bench.reasons() == ["stale", "stale", "nofirst"]
    raw = job.frame(0, 2, 1)
    assert bench.feed(raw, job.port(0)) == [(job.port(1), raw)]  # the old connection is as before


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


CASES = {
    function.__name__: function
    for function in (
        lossless,
        lossless_network,
        row_1_data_lost,
        row_1_only_the_loser_goes_back,
        row_2_result_lost,
        row_2_replay_has_the_new_packets_header,
        row_3_retransmission_lost_again,
        row_4_ack_lost_at_the_tail,
        tail_finished_before_going_back,
        row_5_first_lost,
        row_6_only_packet_of_the_last_message_lost,
        row_7_last_lost,
        row_8_reclaimed_message,
        row_8_stale_before_the_message_is_complete,
        row_9_duplicates_without_loss,
        row_10_corrupted,
        row_11_straggler,
        row_12_restart,
        row_13_new_qpn,
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
