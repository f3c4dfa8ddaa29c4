"""IRN from end to end: two endpoints, and a wire that loses, doubles and overtakes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.irn_transfers import check, transfer
from tests.support.rc_pair import BASE_VA, MTU, QPN, RKEY, START_PSNS, RcPair, Sent, pattern
from workloads.config import IrnConfig
from workloads.events import FrameRejected, NakSent, QpFailed, Retransmission
from workloads.rc import ReceiveCompleted, ReceiveRequest, SendRequest
from workloads.wire import Nak, Opcode, psn_add

PACKETS = 8
RTT = 200_000
IRN = IrnConfig(rto_low_ns=4 * RTT, rto_high_ns=12 * RTT, cap_packets=40)
LATE = 10 * RTT


def irn_pair(psn: int = 0, irn: IrnConfig = IRN, **overrides: Any) -> RcPair:
    pair = RcPair(recovery="irn", irn=irn, psn=psn, **overrides)
    pair.post_receives(32)
    return pair


@pytest.mark.parametrize("psn", START_PSNS)
def test_the_packets_of_a_message(psn: int) -> None:
    """Each names its own place and the length of its message; the last one has the immediate data. Each brings one
    answer."""
    pair = irn_pair(psn)
    check(pair, transfer(pair, 3 * MTU + 7, 5))
    data = pair.data()
    assert pair.offsets(data) == [0, 1, 2, 3, 4]
    assert [s.opcode for s in data] == [Opcode.WRITE_FIRST, *[Opcode.WRITE_ONLY] * 2, *[Opcode.WRITE_ONLY_IMM] * 2]
    told = [(s.packet.reth.va - BASE_VA, s.packet.reth.rkey, s.packet.reth.length) for s in data if s.packet.reth]
    assert told == [(n * MTU, RKEY, 3 * MTU + 7) for n in range(4)] + [(3 * MTU + 7, RKEY, 5)]
    answers = [s for s in pair.sent if s.side == "b"]
    assert all(s.opcode == Opcode.IRN_ANSWER and s.packet.aeth and s.packet.sack for s in answers)
    said = [
        (s.packet.aeth.syndrome, s.packet.aeth.msn, s.packet.sack.cumulative, s.packet.sack.selective) for s in answers
    ]  # type: ignore[union-attr]
    assert said == [(0, m, psn_add(psn, n + 1), psn_add(psn, n)) for n, m in enumerate((0, 0, 0, 1, 2))]
    assert [s.psn for s in answers] == [s.psn for s in data]


@pytest.mark.parametrize("psn", START_PSNS)
@pytest.mark.parametrize("index", range(1, PACKETS))
def test_each_lost_packet_but_the_last_is_sent_again_alone_and_without_a_timer(index: int, psn: int) -> None:
    pair = irn_pair(psn)
    pair.drop("a", index)
    check(pair, transfer(pair, PACKETS * MTU))
    assert sorted(pair.offsets(pair.data())) == sorted([*range(PACKETS), index - 1])
    assert pair.now < 3 * RTT
    (told,) = pair.events_of(Retransmission)
    assert (told.cause, told.psn, told.packets) == ("nak", pair.psn(index - 1), 1)
    (nak,) = pair.events_of(NakSent, "b")
    assert nak.psn == pair.psn(index - 1)


@pytest.mark.parametrize("psn", START_PSNS)
@pytest.mark.parametrize("tail", [1, 2, 3, 4, 6])
def test_a_lost_tail_waits_for_rto_low_when_few_are_in_flight_and_for_rto_high_when_many_are(
    tail: int, psn: int
) -> None:
    pair = irn_pair(psn)
    pair.drop("a", *range(PACKETS - tail + 1, PACKETS + 1))
    check(pair, transfer(pair, PACKETS * MTU))
    again = [s for s in pair.data() if s.index > PACKETS]
    waited = again[0].time - RTT  # the last progress: the answer to what came, one round trip after the start
    assert waited == (IRN.rto_low_ns if tail <= IRN.few_packets else IRN.rto_high_ns)
    assert pair.events_of(Retransmission)[0].cause == "timeout"


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("recovery", ["irn", "irn-rack", "irn-held"])
@pytest.mark.parametrize("psn", START_PSNS)
def test_a_whole_window_lost_costs_two_timers_and_not_one_for_each_packet(
    psn: int, recovery: str, in_order: bool
) -> None:
    pair = RcPair(recovery=recovery, irn=replace(IRN, in_order=in_order), psn=psn, spacing_ns=1_000)
    pair.post_receives(1)
    pair.drop("a", *range(1, 41))
    check(pair, transfer(pair, 60 * MTU))
    waits = IRN.rto_high_ns + 40 * RTT if in_order and recovery == "irn" else 2 * IRN.rto_high_ns
    waits += 0 if in_order else 2 * IRN.rto_low_ns
    assert pair.now < waits + 6 * RTT
    assert len(pair.data()) <= 60 + 40 + 2


@pytest.mark.parametrize("psn", START_PSNS)
def test_a_packet_lost_twice_waits_for_the_timer(psn: int) -> None:
    pair = irn_pair(psn)
    pair.drop_psn(pair.psn(2), times=2)
    check(pair, transfer(pair, PACKETS * MTU))
    assert pair.offsets(pair.data()).count(2) == 3
    last = pair.events_of(Retransmission)[-1]
    assert (last.cause, last.waited_ns) == ("timeout", IRN.rto_low_ns), "of many in flight, all but one arrived"


@pytest.mark.parametrize("trimming", [False, True])
def test_where_packets_wait_in_the_network_all_in_flight_count_for_the_timer_unless_queues_trim(trimming: bool) -> None:
    pair = irn_pair(irn=replace(IRN, in_order=False), trimming=trimming)
    pair.drop_psn(pair.psn(2), times=2)
    check(pair, transfer(pair, PACKETS * MTU))
    last = pair.events_of(Retransmission)[-1]
    assert (last.cause, last.waited_ns) == ("timeout", IRN.rto_low_ns if trimming else IRN.rto_high_ns)
    assert [event.cause for event in pair.events_of(Retransmission)] == ["nak", "timeout"]


@pytest.mark.parametrize("recovery", ["irn", "irn-rack", "irn-held"])
@pytest.mark.parametrize(("packets", "in_order"), [(3, False), (4, False), (PACKETS, False), (PACKETS, True)])
def test_where_packets_wait_in_the_network_and_none_of_many_arrived_other_hosts_have_time_for_their_timer(
    packets: int, in_order: bool, recovery: str
) -> None:
    pair = RcPair(recovery=recovery, irn=replace(IRN, in_order=in_order), spacing_ns=0)
    pair.post_receives(1)
    pair.drop("a", *range(1, packets + 1))
    check(pair, transfer(pair, packets * MTU))
    wait_ns = IRN.rto_low_ns if packets <= IRN.few_packets else IRN.rto_high_ns
    if packets > IRN.few_packets and not in_order:
        wait_ns += IRN.rto_low_ns
    assert pair.events_of(Retransmission)[0].waited_ns == wait_ns


@pytest.mark.parametrize("psn", START_PSNS)
def test_lost_answers_cost_nothing_when_a_later_one_comes(psn: int) -> None:
    pair = irn_pair(psn)
    pair.drop("b", *range(1, PACKETS))
    check(pair, transfer(pair, PACKETS * MTU))
    assert pair.offsets(pair.data()) == list(range(PACKETS))


@pytest.mark.parametrize("psn", START_PSNS)
def test_a_lost_last_answer_brings_one_packet_again_and_no_second_delivery(psn: int) -> None:
    pair = irn_pair(psn)
    pair.drop("b", PACKETS)
    check(pair, transfer(pair, PACKETS * MTU))
    assert pair.offsets(pair.data()) == [*range(PACKETS), PACKETS - 1]
    assert pair.ends["b"].statistics()[0].duplicates_received == 1  # type: ignore[attr-defined]


def test_messages_complete_in_order_whatever_comes_first() -> None:
    pair = irn_pair()
    pair.fate = lambda sent: (LATE,) if sent.side == "a" and sent.index == 1 else (0,)
    check(pair, transfer(pair, MTU, MTU, 2 * MTU))
    completed = [c.imm for c in pair.completions["b"] if isinstance(c, ReceiveCompleted)]
    assert completed == [0, 1, 2]


def test_a_copy_of_a_packet_behind_a_gap_is_not_placed_again() -> None:
    """Its place may have been read, and written for something else, by the time that a copy comes."""
    pair = irn_pair()
    forged: list[bytes] = []

    def fate(sent: Sent) -> tuple[int, ...]:
        if sent.side == "a" and sent.index == 3:
            forged.append(sent.frame)
        return () if sent.side == "a" and sent.index == 1 else (0,)

    pair.fate = fate
    pair.write(pattern(PACKETS * MTU), imm=0)
    pair.run(until=lambda: len(pair.of_kind("nak")) == PACKETS - 1)
    pair.memory[2 * MTU : 3 * MTU] = bytes(MTU)
    pair.inject("b", forged[0])
    pair.run()
    assert pair.memory[2 * MTU : 3 * MTU] == bytes(MTU)
    assert pair.ends["b"].statistics()[0].duplicates_received == 1  # type: ignore[attr-defined]


def test_a_message_without_a_receive_waits_for_one_and_nothing_behind_it_is_lost() -> None:
    pair = RcPair(recovery="irn", irn=IRN)
    pair.post_receives(1)
    for number in range(3):
        pair.write(pattern(2 * MTU, salt=number), wr_id=number, imm=number, at=number * 2 * MTU)
    pair.at(5 * RTT, lambda: pair.post_receives(2, first=1))
    pair.run()
    check(pair, [pattern(2 * MTU, salt=number) for number in range(3)])
    assert {event.reason for event in pair.events_of(FrameRejected, "b")} == {"no_receive"}
    assert not pair.of_kind("rnr")


def test_a_receive_that_a_later_message_could_take_is_kept_for_the_earlier_one() -> None:
    pair = RcPair(recovery="irn", irn=IRN)
    pair.post_receives(1)
    pair.drop("a", 1)
    pair.write(pattern(MTU), wr_id=0, imm=0)
    pair.write(pattern(MTU, salt=1), wr_id=1, imm=1, at=MTU)
    pair.run(until=lambda: bool(pair.received))
    assert pair.received == [pattern(MTU)]


@pytest.mark.parametrize("cap", [1, 4, 40])
def test_no_more_than_the_cap_is_in_flight(cap: int) -> None:
    pair = irn_pair(irn=IrnConfig(4 * RTT, 12 * RTT, cap))
    most = 0

    def fate(sent: Sent) -> tuple[int, ...]:
        nonlocal most
        window = pair.ends["a"].queue_pairs[0].requester.recovery.window  # type: ignore[attr-defined]
        most = max(most, window.in_flight)
        return (0,)

    pair.fate = fate
    check(pair, transfer(pair, 30 * MTU))
    assert most == min(cap, 30)


@pytest.mark.parametrize("code", [10, 12])
def test_it_gives_up_when_nothing_was_acknowledged_for_as_long_as_go_back_n_would_wait(code: int) -> None:
    pair = irn_pair(timeout_code=code, retry_count=2)
    pair.drop_kind("a", "data", times=10_000)
    pair.write(pattern(MTU), wr_id=7, imm=0)
    pair.run()
    assert pair.statuses() == [(7, "RETRY_EXC")]
    (failed,) = pair.events_of(QpFailed)
    give_up = 3 * (4096 << code)
    assert give_up <= pair.now < give_up + IRN.rto_high_ns
    assert failed.detail.startswith("10.0.0.1 QP 0x11 -> 10.0.0.2 QP 0x22: PSN 0 (message 7) was not acknowledged for ")


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (SendRequest(3, (b"abcd",), 1), ("request 3 is a SEND: IRN places packets out of order, so each must say where "
                                        "it goes")),
        (SendRequest(4, (b"abcd",), None, BASE_VA, RKEY), ("request 4 has no immediate data, which ends a message "
                                                           "under "
                                                          "IRN")),
    ],
)  # fmt: skip
def test_what_irn_cannot_carry_is_refused(request_: SendRequest, told: str) -> None:
    pair = irn_pair()
    with pytest.raises(ValueError, match=told):
        pair.ends["a"].post_send(QPN["a"], request_, 0)
    assert pair.ends["a"].outstanding_packets(QPN["a"]) == 0


def test_a_receive_with_memory_is_refused() -> None:
    pair = irn_pair()
    with pytest.raises(ValueError, match="receive 9 has memory: under IRN every packet says itself where it goes"):
        pair.ends["b"].post_receive(QPN["b"], ReceiveRequest(9, memoryview(bytearray(4))))


def test_a_write_to_foreign_memory_ends_the_queue_pair() -> None:
    pair = irn_pair()
    pair.write(pattern(MTU), wr_id=1, imm=0, rkey=RKEY + 1)
    pair.run()
    assert pair.statuses() == [(1, "REM_ACCESS")]
    (refusal,) = pair.of_kind("refusal")
    assert refusal.packet.aeth is not None
    assert refusal.packet.aeth.syndrome == Nak.REMOTE_ACCESS
    assert refusal.opcode == Opcode.IRN_ANSWER


def test_answers_of_the_other_recovery_are_rejected() -> None:
    ours, theirs = irn_pair(), RcPair()
    theirs.post_receives(1)
    theirs.write(pattern(MTU), imm=0)
    theirs.run()
    ours.write(pattern(MTU), imm=0)
    ours.drop("a", 1)
    (ack,) = theirs.of_kind("ack")
    ours.inject("a", ack.frame)
    ours.run()
    assert [event.reason for event in ours.events_of(FrameRejected)] == ["opcode"]


def test_an_answer_about_what_was_never_sent_is_rejected() -> None:
    pair, other = irn_pair(), irn_pair()
    transfer(other, 5 * MTU)
    pair.at(RTT // 4, lambda: pair.inject("a", other.of_kind("ack")[4].frame))
    check(pair, transfer(pair, 2 * MTU))
    assert [event.reason for event in pair.events_of(FrameRejected)] == ["bad_ack"]


def test_a_selective_answer_about_what_was_never_sent_is_rejected() -> None:
    pair, other = irn_pair(), irn_pair()
    other.drop("a", 1)
    transfer(other, 5 * MTU)
    nak = next(s for s in other.of_kind("nak") if s.psn == 4)
    pair.at(RTT // 4, lambda: pair.inject("a", nak.frame))
    check(pair, transfer(pair, 2 * MTU))
    assert [event.reason for event in pair.events_of(FrameRejected)] == ["bad_ack"]


def test_a_connection_that_moves_on_never_gives_up() -> None:
    """A third of all packets is lost, for many times as long as it would wait without progress."""
    pair = irn_pair(spacing_ns=20_000, timeout_code=9, retry_count=2)
    draw = random.Random(5)
    pair.fate = lambda sent: () if sent.side == "a" and draw.random() < 0.3 else (0,)
    check(pair, transfer(pair, *[8 * MTU] * 32))
    give_up = 3 * (4096 << 9)
    assert pair.now > 2 * give_up


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    loss=st.sampled_from([0.0, 0.02, 0.2]),
    doubled=st.sampled_from([0.0, 0.1]),
    late=st.sampled_from([0.0, 0.1]),
    sizes=st.lists(st.integers(0, 9 * MTU), min_size=1, max_size=6),
    psn=st.sampled_from(START_PSNS),
    cap=st.sampled_from([1, 3, 40]),
    spacing=st.sampled_from([0, 7_000]),
)
def test_whatever_the_wire_does_all_messages_arrive_once_and_in_order(
    seed: int, loss: float, doubled: float, late: float, sizes: list[int], psn: int, cap: int, spacing: int
) -> None:
    pair = irn_pair(psn, IrnConfig(4 * RTT, 12 * RTT, cap), spacing_ns=spacing, timeout_code=20)
    draw = random.Random(seed)

    def fate(sent: Sent) -> tuple[int, ...]:
        if draw.random() < loss:
            return ()
        first = draw.randrange(2 * RTT) if draw.random() < late else 0
        return (first, draw.randrange(4 * RTT)) if draw.random() < doubled else (first,)

    pair.fate = fate
    check(pair, transfer(pair, *sizes))
    assert pair.now < 1_000 * IRN.rto_high_ns
