"""What each recovery costs: transmissions per delivered packet at independent loss, against the closed formulas
(docs/irn.md)."""

from __future__ import annotations

import random
from collections import deque

import pytest

from tests.support.rc_pair import BASE_VA, MTU, RKEY, pair_configs
from tests.workloads.rc.test_go_back_n import WASTED, transmissions
from workloads.config import IrnConfig
from workloads.rc import ReceiveRequest, Requester, SendRequest
from workloads.rc.inbound import Inbound
from workloads.rc.irn_receiver import IrnReceiver
from workloads.rc.memory import MemoryRegions
from workloads.rc.tally import Counters, Outbox
from workloads.wire import Reth

DELAY_SLOTS = 50
SLOT_NS = 4096
PACKETS = 20_000


def irn_transmissions(loss: float, *, seed: int) -> tuple[int, int]:
    """(packets sent, slots): one packet leaves per slot; only requests are lost. Policies alone, no bytes."""
    rtt = 2 * DELAY_SLOTS * SLOT_NS
    irn = IrnConfig(4 * rtt, 13 * rtt, 20 * DELAY_SLOTS)
    config_a, config_b = pair_configs(recovery="irn", irn=irn, timeout_code=20)
    sender, receiver, regions = Counters(), Counters(), MemoryRegions()
    regions.register(RKEY, BASE_VA, memoryview(bytearray(PACKETS * MTU)))
    requester, responder = Requester(config_a, sender, Outbox()), IrnReceiver(config_b, regions, receiver, Outbox())
    responder.post_receives([ReceiveRequest(0)])
    requester.post(SendRequest(0, (bytes(PACKETS * MTU),), 0, BASE_VA, RKEY))
    draw = random.Random(seed)
    requests: deque[tuple[int, Inbound]] = deque()
    answers: deque[tuple[int, Inbound]] = deque()
    slot = 0
    while requester.outstanding:
        now = slot * SLOT_NS
        while requests and requests[0][0] <= slot:
            responder.on_request(requests.popleft()[1])
            answer = responder.answers.popleft()
            assert answer.sack is not None
            sack = answer.sack.cumulative, answer.sack.selective
            heard = Inbound(
                b"", config_b.envelope, 0, 0xC1, 0x11, answer.psn, False, b"", None, None, answer.syndrome, sack
            )
            answers.append((slot + DELAY_SLOTS, heard))
        while answers and answers[0][0] <= slot:
            requester.on_answer(answers.popleft()[1], now)
        requester.on_timer(now)
        packet = requester.next_packet(now)
        if packet is not None and draw.random() >= loss:
            imm = 0 if packet.opcode == 0x0B else None
            reth = Reth.decode(packet.extensions)
            seen = Inbound(
                b"", config_a.envelope, 0, packet.opcode, 0x22, packet.psn, True, packet.payload, reth, imm, None
            )
            requests.append((slot + DELAY_SLOTS, seen))
        slot += 1
    assert receiver.packets_received == PACKETS
    return sender.packets_sent, slot


@pytest.mark.parametrize("loss", [0.0, 0.001, 0.01, 0.05])
def test_irn_sends_what_is_lost_and_little_else(loss: float) -> None:
    """1 / (1 - p)."""
    sent, slots = irn_transmissions(loss, seed=11)
    assert sent / PACKETS == pytest.approx(1 / (1 - loss), rel=0.05)
    if not loss:
        assert sent == PACKETS
    # An RTO_high for each packet lost twice in a row: about p^2 of them, and a window of 10 round trips hides most of
    # it.
    assert slots < PACKETS * (1.05 + 12 * loss)


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.05])
def test_go_back_n_sends_a_window_for_each_loss(loss: float) -> None:
    """(1 - p + p W) / (1 - p) for W packets that leave between a loss and the go-back."""
    packets = 200_000 if loss == 0.001 else 100_000
    expected = (1 - loss + loss * WASTED) / (1 - loss)
    assert transmissions(loss, packets, seed=3, psn=0) / packets == pytest.approx(expected, rel=0.05)
