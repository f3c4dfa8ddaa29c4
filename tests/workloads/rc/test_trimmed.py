"""Packets that came without their payload, from end to end: they are asked for at once, by any recovery, and no timer
is needed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.support.rc_pair import MTU, QPN, START_PSNS, RcPair, pattern
from workloads.config import IrnConfig
from workloads.events import FrameRejected, RcStatistics, Retransmission, TrimmedCame
from workloads.wire import Nak, Opcode

DELAY = 100_000
IRN = IrnConfig(rto_low_ns=8 * DELAY, rto_high_ns=24 * DELAY, cap_packets=40)
RECOVERIES = ("gbn", "irn", "irn-rack")


def transfer(recovery: str, trims: dict[int, int], *, packets: int = 6, psn: int = 0, **overrides: Any) -> RcPair:
    """One message of so many packets; `trims`: offset -> so many copies lose their payload."""
    settings = {"trimming": True, "irn": IRN, "delay_ns": DELAY, "spacing_ns": 1000} | overrides
    pair = RcPair(recovery=recovery, psn=psn, **settings)
    for offset, times in trims.items():
        pair.trim_psn(pair.psn(offset), times=times)
    pair.post_receives(4)
    message = pattern(packets * MTU)
    pair.write(message, imm=0)
    pair.run()
    assert pair.received == [message]
    assert pair.statuses() == [(0, "SUCCESS")]
    return pair


def statistics(pair: RcPair, side: str) -> RcStatistics:
    found = pair.ends[side].statistics()[0]
    assert isinstance(found, RcStatistics)
    return found


def copies(pair: RcPair, offset: int) -> int:
    return sum(sent.psn == pair.psn(offset) for sent in pair.data())


@pytest.mark.parametrize("psn", START_PSNS)
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_the_last_packet_is_asked_for_without_a_timer(recovery: str, psn: int) -> None:
    """Behind it nothing comes that would show a gap: with drop it takes a timer."""
    pair = transfer(recovery, {5: 1}, psn=psn)
    assert statistics(pair, "a").timeouts == 0
    assert [event for event in pair.events["b"] if isinstance(event, TrimmedCame)] == [
        TrimmedCame(QPN["b"], pair.psn(5))
    ]
    again = [event.cause for event in pair.events["a"] if isinstance(event, Retransmission)]
    assert again == ["nak" if recovery == "gbn" else "trimmed"]
    left = [sent.time for sent in pair.data() if sent.psn == pair.psn(5)]
    assert left[1] - left[0] == 2 * DELAY, "as soon as the news can be there"


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_one_that_is_trimmed_again_and_again_is_asked_for_each_time(recovery: str) -> None:
    """More often than there are retries: who tells of it is alive."""
    pair = transfer(recovery, {5: 12}, retry_count=1)
    assert statistics(pair, "a").timeouts == 0
    assert copies(pair, 5) == 13
    left = [sent.time for sent in pair.data() if sent.psn == pair.psn(5)]
    assert {later - before for before, later in pairwise(left)} == {2 * DELAY}


@pytest.mark.parametrize("recovery", ["irn", "irn-rack", "irn-held"])
def test_irn_sends_nothing_else_again(recovery: str) -> None:
    pair = transfer(recovery, {1: 1, 2: 2, 5: 1, 9: 1}, packets=12)
    assert statistics(pair, "a").timeouts == 0
    assert [copies(pair, offset) for offset in range(12)] == [1, 2, 3, 1, 1, 2, 1, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("recovery", ["irn", "irn-rack", "irn-held"])
def test_irn_asks_by_name(recovery: str) -> None:
    pair = transfer(recovery, {2: 1})
    asked = [sent.packet for sent in pair.sent if sent.packet.aeth and sent.packet.aeth.syndrome == Nak.TRIMMED]
    assert [(packet.bth.opcode, packet.sack and packet.sack.selective) for packet in asked] == [
        (Opcode.IRN_ANSWER, pair.psn(2))
    ]


@pytest.mark.parametrize("recovery", ["irn", "irn-rack", "irn-held"])
def test_a_loss_beside_it_is_found_as_ever(recovery: str) -> None:
    """The oldest packet is trimmed, and one behind it is lost: its hole is seen though the oldest is asked for."""
    settings = {"trimming": True, "irn": IRN, "delay_ns": DELAY, "spacing_ns": 1000}
    pair = RcPair(recovery=recovery, **settings)  # type: ignore[arg-type]
    pair.trim_psn(0)
    pair.drop_psn(2)
    pair.post_receives(4)
    message = pattern(12 * MTU)
    pair.write(message, imm=0)
    pair.run()
    assert pair.received == [message]
    assert statistics(pair, "a").timeouts == 0
    assert copies(pair, 2) == 2


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_retransmission_that_is_lost_takes_a_timer(recovery: str) -> None:
    settings = {"trimming": True, "irn": IRN, "delay_ns": DELAY, "spacing_ns": 1000}
    pair = RcPair(recovery=recovery, **settings)  # type: ignore[arg-type]
    pair.trim_psn(5)
    pair._drops.append(lambda sent: sent.psn == 5 and sent.side == "a" and copies(pair, 5) == 2)
    pair.post_receives(4)
    message = pattern(6 * MTU)
    pair.write(message, imm=0)
    pair.run()
    assert pair.received == [message]
    assert statistics(pair, "a").timeouts >= 1
    assert copies(pair, 5) == 3


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_second_copy_of_what_came_is_not_asked_for(recovery: str) -> None:
    """The answer to the first copy is lost, so that a timer sends another, whose payload a queue takes: the receiver
    says that it has it."""
    settings = {"trimming": True, "irn": IRN, "delay_ns": DELAY, "spacing_ns": 1000}
    pair = RcPair(recovery=recovery, **settings)  # type: ignore[arg-type]
    pair.drop("b", 1)
    pair._trims.append(lambda sent: sent.side == "a" and sent.psn == 0 and copies(pair, 0) == 2)
    pair.post_receives(4)
    message = pattern(MTU)
    pair.write(message, imm=0)
    pair.run()
    assert pair.received == [message]
    assert copies(pair, 0) == 2


def test_go_back_n_opens_its_window_again_packet_by_packet() -> None:
    """After the NAK one packet leaves, and then as many more as are acknowledged: what lies behind the gap would fill
    the queue again that has just trimmed."""
    pair = transfer("gbn", {0: 1}, packets=16, ack_every=1)
    again = [sent.time for sent in pair.data()][16:]
    bursts = [sum(time // (2 * DELAY) == turn for time in again) for turn in range(1, 6)]
    assert bursts == [1, 2, 4, 8, 1]


def test_where_nobody_trims_it_is_a_damaged_packet() -> None:
    pair = transfer("irn", {2: 1}, trimming=False)
    assert [event.reason for event in pair.events["b"] if isinstance(event, FrameRejected)] == ["icrc"]
    assert not [event for event in pair.events["b"] if isinstance(event, TrimmedCame)]


def test_headers_that_were_damaged_say_nothing() -> None:
    """A wrong PSN would ask for another packet."""
    settings = {"trimming": True, "irn": IRN, "delay_ns": DELAY, "spacing_ns": 1000}
    pair = RcPair(recovery="irn", **settings)  # type: ignore[arg-type]
    pair.trim_psn(2)
    pair.post_receives(4)
    message = pattern(6 * MTU)
    pair.write(message, imm=0)
    end = pair.ends["b"]
    taken = end.receive_frame

    def damaging(port: int, frame: Any, now: int) -> None:
        data = bytearray(frame)
        if len(data) < 100:
            data[53] ^= 1
        taken(port, bytes(data), now)

    end.receive_frame = damaging  # type: ignore[method-assign]
    pair.run()
    assert pair.received == [message]
    assert [event.reason for event in pair.events["b"] if isinstance(event, FrameRejected)] == ["icrc"]
    assert not [event for event in pair.events["b"] if isinstance(event, TrimmedCame)]
