"""`irn-rack` from end to end: two endpoints, and a wire that loses, doubles and swaps."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.irn_transfers import check, transfer
from tests.support.rc_pair import MTU, START_PSNS, RcPair, Sent, pattern
from workloads.config import IrnConfig
from workloads.events import QpFailed, RcStatistics, Retransmission

RTT, PACKETS = 200_000, 8
IRN = IrnConfig(rto_low_ns=4 * RTT, rto_high_ns=13 * RTT, cap_packets=40)
SPACING = 5_000


def rack_pair(psn: int = 0, recovery: str = "irn-rack", **overrides: Any) -> RcPair:
    settings_ = {"irn": IRN, "spacing_ns": SPACING} | overrides
    pair = RcPair(recovery=recovery, psn=psn, **settings_)
    pair.post_receives(256)
    return pair


@pytest.mark.parametrize("psn", START_PSNS)
@pytest.mark.parametrize("index", range(1, PACKETS))
def test_each_lost_packet_but_the_last_is_sent_again_alone_before_rto_low(index: int, psn: int) -> None:
    pair = rack_pair(psn)
    pair.drop("a", index)
    check(pair, transfer(pair, PACKETS * MTU))
    again = [s for s in pair.data() if s.index > PACKETS]
    assert [s.psn for s in again] == [pair.psn(index - 1)]
    left = next(s for s in pair.data() if s.psn == pair.psn(index - 1))
    assert again[0].time - left.time < IRN.rto_low_ns
    assert [event.cause for event in pair.events_of(Retransmission)] == ["nak"]


@pytest.mark.parametrize("psn", START_PSNS)
def test_a_packet_lost_twice_is_found_twice_where_irn_waits_for_its_timer(psn: int) -> None:
    causes = {}
    for recovery in ("irn", "irn-rack"):
        pair = rack_pair(psn, recovery, irn=IrnConfig(IRN.rto_low_ns, IRN.rto_high_ns, 60))
        pair.drop_psn(pair.psn(2), times=2)
        check(pair, transfer(pair, 120 * MTU))
        causes[recovery] = [event.cause for event in pair.events_of(Retransmission) if event.psn == pair.psn(2)]
    assert causes["irn-rack"] == ["nak", "nak"]
    assert "timeout" in causes["irn"]


def test_one_swap_brings_nothing_again() -> None:
    pair = rack_pair()
    pair.fate = lambda sent: (2 * SPACING,) if sent.side == "a" and sent.index == 3 else (0,)
    check(pair, transfer(pair, PACKETS * MTU))
    assert len(pair.data()) == PACKETS


@pytest.mark.parametrize("copies", [1, 2])
def test_a_lost_tail_waits_for_two_round_trips(copies: int) -> None:
    """Then for IRN's timer: there is one probe until something is heard."""
    pair = rack_pair()
    pair.drop_psn(PACKETS - 1, times=copies)
    check(pair, transfer(pair, PACKETS * MTU))
    left = [sent.time for sent in pair.data() if sent.psn == PACKETS - 1]
    waits = [later - before for before, later in pairwise(left)]
    assert 2 * RTT <= waits[0] < 3 * RTT + SPACING < IRN.rto_low_ns
    assert waits[1:] == [IRN.rto_low_ns] * (copies - 1)
    assert [told.cause for told in pair.events_of(Retransmission)] == ["timeout"] * copies
    told = pair.events_of(Retransmission)[0]
    assert told.waited_ns is not None
    assert 2 * RTT <= told.waited_ns < 3 * RTT
    statistics = pair.ends["a"].statistics()[0]
    assert isinstance(statistics, RcStatistics)
    assert statistics.timeouts == copies


def test_the_timer_starts_again_with_the_oldest_packet() -> None:
    """It leaves again after a round trip, and its answer is waited for as long as if it had just left first."""
    pair = rack_pair(irn=IrnConfig(RTT * 3 // 2, RTT * 3 // 2, 40))
    pair.drop("a", 1)
    check(pair, transfer(pair, PACKETS * MTU))
    assert [told.cause for told in pair.events_of(Retransmission)] == ["nak"]


def test_what_waits_for_the_reorder_window_is_left_to_it() -> None:
    """IRN's timer would be over before."""
    pair = rack_pair(irn=IrnConfig(RTT + RTT // 8, RTT + RTT // 8, 40))
    pair.drop("a", 1)
    check(pair, transfer(pair, 2 * MTU))
    (told,) = pair.events_of(Retransmission)
    assert told.cause == "nak"


@pytest.mark.parametrize("late", [RTT // 2, RTT, 2 * RTT])
def test_reordering_alone_brings_less_than_one_percent_again_and_with_irn_much_more(late: int) -> None:
    """Every packet takes one of two ways, drawn; one of them is longer. To learn how much costs a few, once."""
    share = {}
    for recovery in ("irn", "irn-rack"):
        pair = rack_pair(recovery=recovery, memory=1 << 21, timeout_code=20)
        draw = random.Random(4)
        pair.fate = lambda sent, draw=draw: (late * draw.randrange(2) if sent.side == "a" else 0,)  # type: ignore[misc]
        check(pair, transfer(pair, *[25 * MTU] * 160))
        share[recovery] = len(pair.data()) / 4000 - 1
    assert share["irn-rack"] < 0.01 < 0.03 < share["irn"]


def test_reordering_and_loss_together_cost_what_is_lost_and_little_more() -> None:
    pair = rack_pair(memory=1 << 20, timeout_code=20)
    draw, lost = random.Random(9), 0

    def fate(sent: Sent) -> tuple[int, ...]:
        nonlocal lost
        if sent.side == "a" and draw.random() < 0.01:
            lost += 1
            return ()
        return (RTT * draw.randrange(2) if sent.side == "a" else 0,)

    pair.fate = fate
    check(pair, transfer(pair, *[8 * MTU] * 250))
    assert lost >= 10
    assert len(pair.data()) - 2000 - lost < 20


def test_it_gives_up_as_irn_does() -> None:
    pair = rack_pair(timeout_code=10, retry_count=2)
    pair.drop_kind("a", "data", times=10_000)
    pair.write(pattern(MTU), wr_id=7, imm=0)
    pair.run()
    assert pair.statuses() == [(7, "RETRY_EXC")]
    assert pair.events_of(QpFailed)


def test_after_a_failure_no_timer_runs() -> None:
    pair = rack_pair()
    pair.fate = lambda sent: () if sent.side == "a" and sent.index == 1 else (0,)
    pair.write(pattern(2 * MTU), wr_id=1, imm=0)
    pair.run(until=lambda: len(pair.of_kind("nak")) == 1)
    pair.now += RTT
    pair.write(b"x", wr_id=2, imm=0, at=0)
    sender = pair.ends["a"].queue_pairs[0].requester.recovery
    sender.shut()
    assert sender.deadline is None
    assert sender.next_packet(pair.now) is None


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    loss=st.sampled_from([0.0, 0.02, 0.2]),
    doubled=st.sampled_from([0.0, 0.1]),
    late=st.sampled_from([0.0, 0.1, 0.5]),
    sizes=st.lists(st.integers(0, 9 * MTU), min_size=1, max_size=6),
    psn=st.sampled_from(START_PSNS),
    cap=st.sampled_from([1, 3, 40]),
    spacing=st.sampled_from([0, 7_000]),
    in_order=st.booleans(),
)
def test_whatever_the_wire_does_all_messages_arrive_once_and_in_order(
    seed: int, loss: float, doubled: float, late: float, sizes: list[int], psn: int, cap: int, spacing: int,
    in_order: bool,
) -> None:  # fmt: skip
    irn = IrnConfig(4 * RTT, 12 * RTT, cap, in_order=in_order)
    pair = rack_pair(psn, irn=irn, spacing_ns=spacing, timeout_code=20)
    draw = random.Random(seed)

    def fate(sent: Sent) -> tuple[int, ...]:
        if draw.random() < loss:
            return ()
        first = draw.randrange(2 * RTT) if draw.random() < late else 0
        return (first, draw.randrange(4 * RTT)) if draw.random() < doubled else (first,)

    pair.fate = fate
    check(pair, transfer(pair, *sizes))
    assert pair.now < 1_000 * IRN.rto_high_ns
