"""Directed cases for a NetReduce program: the loss-case table and reclamation; all cases, those of
`netreduce_rule_cases` too.

Each is a function of a program factory and fails with AssertionError, so that the same cases judge the real program
and the broken ones of `netreduce_mutants`.
"""

from __future__ import annotations

from switch_nodes.events import MessageAggregated, MessageInferred, ResultReplayed
from tests.support.netreduce_harness import Bench, Job, MakeProgram, Network
from tests.support.netreduce_rule_cases import RULE_CASES
from workloads.wire import decode_packet, icrc_is_valid

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
    """rdma_rxe may finish a WRITE, and begin the next message, before it heeds a NAK: what comes behind the hole is
    taken, once, and what then comes again is answered, not added."""
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


def row_8_message_two_windows_back(make: MakeProgram) -> None:
    """The table knows 2N + 1 messages: a late copy of the message 2N before the newest is still known, and goes on raw.
    No sender waits for that: it had the ACK of message m - 2N before it posted m (rule G)."""
    job = Job(lengths=(1, 4, 4, 4, 4, 4))
    bench = Bench(job, make)
    bench.run_through(4)
    bench.data(0, 5, 0)
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
        row_8_message_two_windows_back,
        row_8_stale_before_the_message_is_complete,
        row_9_duplicates_without_loss,
        row_10_corrupted,
        row_11_straggler,
        row_12_restart,
        row_13_new_qpn,
    )
} | RULE_CASES
