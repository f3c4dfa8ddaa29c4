"""The receiver of `irn-held`: which map an answer carries; and both halves over a wire that loses."""

from __future__ import annotations

import pytest

from tests.support.irn_transfers import check, transfer
from tests.support.rc_pair import MTU, START_PSNS, RcPair
from workloads.config import IrnConfig
from workloads.events import Retransmission
from workloads.rc.held_receiver import next_gap
from workloads.wire import Nak
from workloads.wire.held_map import decode_held_map

RTT, PACKETS = 200_000, 10
IRN = IrnConfig(rto_low_ns=4 * RTT, rto_high_ns=13 * RTT, cap_packets=100)


def held_pair(psn: int) -> RcPair:
    pair = RcPair(recovery="irn-held", psn=psn, irn=IRN, spacing_ns=5_000)
    pair.post_receives(256)
    return pair


@pytest.mark.parametrize(
    ("here", "start", "found"),
    [
        (0b0, 0, None),
        (0b110, 0, (0, 3, 0b110)),
        (0b110110, 0, (0, 6, 0b110110)),
        (0b110110, 1, (3, 3, 0b110)),
        (0b110110, 4, (0, 6, 0b110110)),
        (0b110110, 99, (0, 6, 0b110110)),
        (1 << 70, 0, (0, 64, 0)),
        (1 << 70, 64, (64, 7, 1 << 6)),
        (0b1, 0, None),
    ],
)
def test_the_next_gap(here, start, found):
    assert next_gap(here, start) == found


@pytest.mark.parametrize("psn", START_PSNS)
def test_maps_go_through_all_gaps_in_turn(psn):
    pair = held_pair(psn)
    pair.drop("a", 2, 5)
    check(pair, transfer(pair, PACKETS * MTU))
    packets = [sent.packet for kind in ("ack", "nak") for sent in pair.of_kind(kind)]
    told = [(p.bth.psn, decode_held_map(p.payload)) for p in packets if p.aeth.syndrome == Nak.PSN_SEQUENCE]
    assert told, "gaps were shown"
    for answered, held in told:
        assert held.newest == answered
    first = {held.first for _, held in told}
    assert {pair.psn(1), pair.psn(4)} <= first
    assert all(not p.payload for p in packets if p.aeth.syndrome != Nak.PSN_SEQUENCE)


@pytest.mark.parametrize("psn", START_PSNS)
def test_a_packet_lost_twice_is_sent_three_times_before_any_timer(psn):
    pair = held_pair(psn)
    pair.drop_psn(pair.psn(2), times=2)
    check(pair, transfer(pair, 120 * MTU))
    again = [(event.psn, event.cause) for event in pair.events_of(Retransmission)]
    assert again == [(pair.psn(2), "nak")] * 2
