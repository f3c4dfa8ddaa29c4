"""Requester and responder together: every way to lose, double or overtake a packet."""

from __future__ import annotations

import pytest

from tests.support.rc_pair import MTU, START_PSNS, RcPair, pattern
from workloads.events import NakSent, QpFailed, Retransmission
from workloads.rc import ReceiveCompleted
from workloads.wire import Nak, Opcode

PACKETS = 8
MESSAGE = pattern(PACKETS * MTU - 5)

pytestmark = pytest.mark.parametrize("psn", START_PSNS)


def verbs(pair: RcPair, verb: str, data: bytes, **more: int) -> None:
    if verb == "send":
        pair.send(data, **more)
    elif verb == "send_imm":
        pair.send(data, imm=9, **more)
    else:
        pair.write(data, imm=9, **more)


def test_without_loss_every_packet_goes_once(psn: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(2)
    pair.send(MESSAGE, wr_id=5)
    pair.send(b"", wr_id=6, imm=0xFFFFFFFF)
    pair.run()
    assert pair.received == [MESSAGE, b""]
    assert pair.statuses() == [(5, "SUCCESS"), (6, "SUCCESS")]
    assert pair.completions["b"] == [
        ReceiveCompleted(0x22, 0, None, len(MESSAGE)), ReceiveCompleted(0x22, 1, 0xFFFFFFFF, 0),
    ]  # fmt: skip
    assert pair.offsets(pair.data()) == list(range(PACKETS + 1))
    assert [s.opcode.name.removeprefix("SEND_") for s in pair.data()] == (
        ["FIRST"] + ["MIDDLE"] * (PACKETS - 2) + ["LAST", "ONLY_IMM"]
    )
    acks = pair.of_kind("ack")
    assert pair.offsets(acks) == [PACKETS - 1, PACKETS]
    assert [a.packet.aeth.msn for a in acks if a.packet.aeth] == [1, 2]
    assert pair.ends["a"].get_timer() is None
    assert not pair.events["a"]
    assert not pair.events["b"]


def test_write_places_bytes_and_wakes_by_immediate_only(psn: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(1)
    pair.write(MESSAGE[:16], MESSAGE[16:700], MESSAGE[700:], wr_id=1, at=300)
    pair.write(b"abc", wr_id=2, imm=4, at=5000)
    pair.write(b"", wr_id=3, at=5000)
    pair.run()
    assert pair.memory[300 : 300 + len(MESSAGE)] == MESSAGE
    assert pair.memory[5000:5003] == b"abc"
    touched = [*range(300, 300 + len(MESSAGE)), *range(5000, 5003)]
    assert all(pair.memory[i] == 0xEE for i in set(range(len(pair.memory))) - set(touched))
    assert pair.completions["b"] == [ReceiveCompleted(0x22, 0, 4, 3)]
    assert pair.statuses() == [(1, "SUCCESS"), (2, "SUCCESS"), (3, "SUCCESS")]
    first = pair.data()[0]
    assert first.opcode is Opcode.WRITE_FIRST
    assert first.packet.reth is not None
    assert first.packet.reth.length == len(MESSAGE)


@pytest.mark.parametrize("verb", ["send", "send_imm", "write"])
@pytest.mark.parametrize("lost", range(PACKETS - 1))
def test_a_lost_packet_costs_exactly_what_is_behind_it(psn: int, lost: int, verb: str) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(1)
    pair.drop("a", lost + 1)
    verbs(pair, verb, MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert pair.statuses() == [(0, "SUCCESS")]
    assert pair.offsets(pair.data()) == [*range(PACKETS), *range(lost, PACKETS)]
    assert pair.offsets(pair.of_kind("nak")) == [lost]
    assert pair.events_of(NakSent, "b") == [NakSent(0x22, Nak.PSN_SEQUENCE, pair.psn(lost))]
    assert pair.events_of(Retransmission) == [
        Retransmission(0x11, "nak", pair.psn(lost), PACKETS - lost, resent_before=0)
    ]
    assert pair.now < 1_000_000, "no timer was needed"


@pytest.mark.parametrize("verb", ["send", "send_imm", "write"])
def test_a_lost_last_packet_waits_for_the_timer(psn: int, verb: str) -> None:
    pair = RcPair(psn=psn, ack_every=1000)
    pair.post_receives(1)
    pair.drop("a", PACKETS)
    verbs(pair, verb, MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert pair.offsets(pair.data()) == [*range(PACKETS), *range(PACKETS)]
    assert not pair.of_kind("nak")
    # as the captured stack: each duplicate is acknowledged with the PSN before the expected one, MSN unchanged
    acks = pair.of_kind("ack")
    assert pair.offsets(acks) == [PACKETS - 2] * (PACKETS - 1) + [PACKETS - 1]
    assert [a.packet.aeth.msn for a in acks if a.packet.aeth] == [0] * (PACKETS - 1) + [1]
    assert pair.events_of(Retransmission) == [Retransmission(0x11, "timeout", pair.psn(0), PACKETS, 4096 << 12, 0)]


@pytest.mark.parametrize("verb", ["send", "write", "write_imm"])
@pytest.mark.parametrize("size", [0, 1, MTU])
def test_a_lost_only_packet(psn: int, verb: str, size: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(1)
    data = pattern(size)
    pair.drop("a", 1)
    if verb == "send":
        pair.send(data)
    else:
        pair.write(data, imm=1 if verb == "write_imm" else None)
    pair.run()
    assert pair.statuses() == [(0, "SUCCESS")]
    assert pair.offsets(pair.data()) == [0, 0]
    assert pair.received == ([data] if verb != "write" else [])
    if verb == "write":
        assert pair.memory[:size] == data


def test_a_lost_ack_is_covered_by_the_next_one(psn: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(2)
    pair.drop_kind("b", "ack")
    pair.send(MESSAGE, wr_id=1)
    pair.send(MESSAGE, wr_id=2)
    pair.run()
    assert pair.statuses() == [(1, "SUCCESS"), (2, "SUCCESS")]
    assert len(pair.data()) == 2 * PACKETS


def test_a_lost_last_ack_brings_duplicates_and_no_second_delivery(psn: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(3)
    pair.drop_kind("b", "ack")
    pair.send(MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert pair.statuses() == [(0, "SUCCESS")]
    assert pair.offsets(pair.data()) == [*range(PACKETS), *range(PACKETS)]
    assert pair.offsets(pair.of_kind("ack")) == [PACKETS - 1] * (PACKETS + 1)
    assert pair.ends["b"].statistics()[0].duplicates_received == PACKETS


def test_a_lost_nak_waits_for_the_timer(psn: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(1)
    pair.drop_psn(pair.psn(3))
    pair.drop_kind("b", "nak")
    pair.send(MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert [e.cause for e in pair.events_of(Retransmission)] == ["timeout"]
    assert len(pair.of_kind("nak")) == 1, "one NAK per gap"


def test_a_packet_lost_twice_waits_for_the_timer(psn: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(1)
    pair.drop_psn(pair.psn(3), times=2)
    pair.send(MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert pair.offsets(pair.data()) == [*range(8), *range(3, 8), *range(3, 8)]
    assert len(pair.of_kind("nak")) == 1, "one NAK per gap"
    assert [e.cause for e in pair.events_of(Retransmission)] == ["nak", "timeout"]


def test_two_gaps_bring_two_naks_and_no_timer(psn: int) -> None:
    """A NAK for a later PSN is a new gap, also when no ACK came in between."""
    pair = RcPair(psn=psn)
    pair.post_receives(1)
    pair.drop_psn(pair.psn(2))
    pair.drop_psn(pair.psn(5), times=2)
    pair.send(MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert [(e.cause, e.psn) for e in pair.events_of(Retransmission)] == [("nak", pair.psn(2)), ("nak", pair.psn(5))]


def test_more_gaps_than_retries_do_not_fail_a_connection_that_moves_on(psn: int) -> None:
    pair = RcPair(psn=psn, retry_count=1)
    pair.post_receives(1)
    for offset in range(PACKETS - 1):
        pair.drop_psn(pair.psn(offset), times=offset + 1)  # each go-back stops one packet further
    pair.send(MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert len(pair.events_of(Retransmission)) >= PACKETS - 1
    assert not pair.events_of(QpFailed)


def test_every_packet_twice(psn: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(2)
    pair.fate = lambda sent: (0, 10)
    pair.send(MESSAGE, wr_id=1)
    pair.write(MESSAGE, wr_id=2, imm=3, at=100)
    pair.run()
    assert pair.received == [MESSAGE, MESSAGE]
    assert pair.statuses() == [(1, "SUCCESS"), (2, "SUCCESS")]
    assert len(pair.data()) == 2 * PACKETS
    msns = [s.packet.aeth.msn for s in pair.of_kind("ack") if s.packet.aeth]
    assert msns == sorted(msns)
    assert msns[-1] == 2


@pytest.mark.parametrize("late", range(PACKETS))
def test_an_overtaken_packet(psn: int, late: int) -> None:
    pair = RcPair(psn=psn)
    pair.post_receives(1)
    pair.fate = lambda sent: (30,) if sent.side == "a" and sent.index == late + 1 else (sent.index,)
    pair.send(MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert pair.ends["b"].statistics()[0].packets_received == PACKETS
    last_ack = pair.of_kind("ack")[-1].packet.aeth
    assert last_ack is not None
    assert last_ack.msn == 1


def test_retransmitted_packets_are_the_same_bytes_but_for_ack_req(psn: int) -> None:
    pair = RcPair(psn=psn, ack_request_every=3)
    pair.post_receives(2)
    pair.drop("a", 5)
    pair.write(MESSAGE, imm=7)
    pair.send(MESSAGE)
    pair.run()
    first: dict[int, bytes] = {}
    for sent in pair.data():
        bare = bytearray(sent.frame[:-4])
        bare[50] &= 0x7F
        assert first.setdefault(sent.psn, bytes(bare)) == bare
    assert len(pair.data()) > len(first)


def test_ack_req_and_coalescing(psn: int) -> None:
    pair = RcPair(psn=psn, ack_request_every=10, ack_every=4)
    pair.post_receives(1, size=1 << 14)
    pair.send(pattern(25 * MTU))
    pair.run()
    asked = [offset for offset, s in zip(pair.offsets(pair.data()), pair.data(), strict=True) if s.packet.bth.ack_req]
    assert asked == [9, 19, 24]
    assert pair.offsets(pair.of_kind("ack")) == [3, 7, 9, 13, 17, 19, 23, 24]


def test_a_closed_window_asks_for_an_ack(psn: int) -> None:
    """Otherwise a responder that only answers AckReq (rdma_rxe does) would leave it to the timer."""
    pair = RcPair(psn=psn, window_packets=3, ack_every=1000)
    pair.post_receives(1)
    pair.send(MESSAGE)
    pair.run()
    assert pair.received == [MESSAGE]
    assert not pair.events_of(Retransmission)
    assert pair.offsets(pair.of_kind("ack")) == [2, 5, 7]


def test_unacknowledged_packets_never_exceed_the_window(psn: int) -> None:
    pair = RcPair(psn=psn, window_packets=5, ack_every=2)
    pair.post_receives(4)
    for wr_id in range(4):
        pair.send(MESSAGE, wr_id=wr_id)
    pair.drop("a", 7, 13, 20)
    pair.run()
    assert pair.received == [MESSAGE] * 4
    acked = 0
    for sent in pair.sent:
        if sent.side == "a":
            assert pair.offsets([sent])[0] < acked + 5
        else:
            acked = max(acked, pair.offsets([sent])[0] + (sent.kind == "ack"))


def test_a_nak_turns_the_sender_back_at_once(psn: int) -> None:
    """Packets that did not leave yet are not sent before the lost one."""
    pair = RcPair(psn=psn, delay_ns=1000, spacing_ns=1000)
    pair.post_receives(1, size=1 << 14)
    pair.drop("a", 2)
    pair.send(pattern(50 * MTU))
    pair.run()
    # 1 lost at t=1 us; 2 leaves at 2 us, arrives at 3 us; the NAK is back at 4 us
    sent = pair.offsets(pair.data())
    assert sent.count(1) == 2
    assert sent.index(1, 2) <= 5
    assert len(sent) <= 50 + 4


def test_outstanding_packets_count_what_is_posted_and_not_acknowledged(psn: int) -> None:
    pair = RcPair(psn=psn, window_packets=3)
    pair.post_receives(2)
    end = pair.ends["a"]
    assert end.outstanding_packets(0x11) == 0
    pair.send(MESSAGE)
    pair.send(b"")
    assert end.outstanding_packets(0x11) == PACKETS + 1
    pair.run(until=lambda: end.outstanding_packets(0x11) < PACKETS + 1)
    assert end.outstanding_packets(0x11) == PACKETS + 1 - 3
    pair.run()
    assert end.outstanding_packets(0x11) == 0
