"""The second queue pair beside a host's, on frames and steps made by hand: each rule holds, and is broken by what
breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.hunt.endpoint_rules import ENDPOINT_RULES, EndpointWatch
from testbed.hunt.irn_rules import IRN_RULES
from testbed.plan import make_plan
from testbed.scenario.model import Scenario, Transport
from topologies import LinkShape, rack
from workloads.events import QpFailed, QpStepped
from workloads.wire import Aeth, Bth, ImmDt, Nak, Opcode, Packet, Reth, encode_packet, psn_add

LAST = (1 << 24) - 1
"""the first PSN: what follows wraps"""


class Bench:
    """Host h1 of a rack of two under watch: it sends on its first queue pair, and receives on its second."""

    def __init__(self) -> None:
        scenario = Scenario(
            name="watched",
            topology=rack(2, LinkShape()),
            link=LinkShape(),
            transport=Transport(start_psn=LAST, path_mtu=256),
        )
        config = make_plan(scenario).workers[0]
        self.to, self.of = config.to_successor, config.from_predecessor
        self.broken: list[str] = []
        self.watch = EndpointWatch(config, lambda rule, what: self.broken.append(rule))

    def frame(self, qp, opcode, psn, *, outgoing, ack_req=False, **more):
        envelope = qp.envelope
        if not outgoing:
            envelope = type(envelope)(
                envelope.dst_mac, envelope.src_mac, envelope.dst_ip, envelope.src_ip, envelope.sport
            )
        number = qp.peer_qpn if outgoing else qp.qpn
        return encode_packet(Packet(envelope, Bth(opcode, number, psn, ack_req=ack_req), **more))

    def sends(self, offset):
        psn = psn_add(LAST, offset)
        reth = Reth(0, 1, 4)
        frame = self.frame(
            self.to, Opcode.WRITE_ONLY_IMM, psn, outgoing=True, payload=bytes(4), reth=reth, imm=ImmDt(0), ack_req=True
        )
        self.watch.left(frame, 0)

    def hears(self, offset, syndrome=0x1F, *, believes, now=0):
        psn = psn_add(LAST, offset)
        self.watch.came(self.frame(self.to, Opcode.ACKNOWLEDGE, psn, outgoing=False, aeth=Aeth(int(syndrome), 0)), now)
        oldest = psn_add(LAST, believes)
        self.watch.told(QpStepped(self.to.qpn, "requester", "sending", "ack_some", "sending", oldest))
        self.watch.handled()

    def gets(self, offset, *, expects, ack_req=True, opcode=Opcode.SEND_ONLY):
        frame = self.frame(self.of, opcode, psn_add(LAST, offset), outgoing=False, payload=bytes(4), ack_req=ack_req)
        self.watch.came(frame, 0)
        expected = psn_add(LAST, expects)
        self.watch.told(QpStepped(self.of.qpn, "responder", "expect_first", "only", "expect_first", expected))
        self.watch.handled()

    def answers(self, offset, msn, syndrome=0x1F):
        psn, aeth = psn_add(LAST, offset), Aeth(int(syndrome), msn)
        self.watch.left(self.frame(self.of, Opcode.ACKNOWLEDGE, psn, outgoing=True, aeth=aeth), 0)


@pytest.fixture
def bench():
    return Bench()


def test_what_is_right_breaks_nothing(bench):
    for offset in range(3):
        bench.sends(offset)
    bench.hears(1, believes=2)
    bench.hears(2, Nak.PSN_SEQUENCE, believes=2)
    bench.sends(2)
    bench.hears(2, believes=3)
    bench.gets(0, expects=1)
    bench.answers(0, 1)
    bench.gets(2, expects=1)
    bench.answers(1, 1, Nak.PSN_SEQUENCE)
    bench.gets(3, expects=1)
    bench.gets(1, expects=2)
    bench.gets(0, expects=2)
    bench.answers(1, 2)
    bench.answers(1, 2)
    bench.watch.drained()
    assert bench.broken == []


@pytest.mark.parametrize("msn", [0, 2])
def test_msn_counts_messages(bench, msn):
    bench.gets(0, expects=1)
    bench.answers(0, msn)
    assert bench.broken == ["msn_counts_messages"]


def test_a_packet_inside_a_message_does_not_count(bench):
    bench.gets(0, expects=1, opcode=Opcode.SEND_FIRST)
    bench.answers(0, 0)
    bench.gets(1, expects=2, opcode=Opcode.SEND_LAST)
    bench.answers(1, 1)
    assert bench.broken == []


def test_an_ack_covers_what_came_in_order(bench):
    bench.gets(0, expects=1)
    bench.answers(1, 1)
    assert bench.broken == ["answers_are_earned"]


def test_a_packet_that_did_not_come_is_not_expected_to_have(bench):
    bench.gets(1, expects=2)
    assert bench.broken == ["answers_are_earned"]


def test_one_nak_for_a_gap(bench):
    bench.gets(2, expects=0)
    bench.answers(0, 0, Nak.PSN_SEQUENCE)
    bench.gets(3, expects=0)
    bench.answers(0, 0, Nak.PSN_SEQUENCE)
    assert bench.broken == ["answers_are_earned"]


def test_answers_do_not_retreat(bench):
    for offset in range(2):
        bench.gets(offset, expects=offset + 1)
        bench.answers(offset, offset + 1)
    bench.answers(0, 1)
    assert bench.broken == ["answers_are_earned"]


def test_an_rnr_nak_is_for_what_was_refused(bench):
    bench.gets(0, expects=0)
    bench.answers(0, 0, 0x21)
    assert bench.broken == []
    bench.answers(0, 0, 0x21)
    assert bench.broken == ["answers_are_earned"]


@pytest.mark.parametrize("offset", [0, 2], ids=["duplicate", "gap"])
def test_answers_are_given_before_anything_else_leaves(bench, offset):
    bench.gets(0, expects=1)
    bench.answers(0, 1)
    bench.gets(offset, expects=1)
    bench.sends(0)
    assert bench.broken == ["answers_are_given"]


@pytest.mark.parametrize("offset", [3, 1 << 20, -2, -(1 << 20)])
def test_an_answer_about_what_was_never_sent_or_is_acknowledged_says_nothing(bench, offset):
    for sent in range(3):
        bench.sends(sent)
    bench.hears(offset, believes=0)
    assert bench.broken == []
    bench.hears(offset, believes=3)
    assert bench.broken == ["acks_are_believed"]


def test_what_a_nak_leaves_behind_is_acknowledged(bench):
    for sent in range(3):
        bench.sends(sent)
    bench.hears(2, Nak.PSN_SEQUENCE, believes=0)
    assert bench.broken == ["acks_are_believed"]


def test_the_time_of_an_rnr_nak_is_waited_for(bench):
    for sent in range(2):
        bench.sends(sent)
    bench.hears(0, 0x21, believes=0, now=100)  # 10 us
    bench.watch.woke(10_099)
    bench.sends(0)
    assert bench.broken == ["rnr_is_waited_for"]
    bench.watch.woke(10_100)
    bench.sends(1)
    assert bench.broken == ["rnr_is_waited_for"]


@pytest.mark.parametrize("offset", [2, 3, -1])
def test_requests_follow_each_other(bench, offset):
    bench.sends(0)
    bench.sends(offset)
    assert bench.broken == ["requests_in_order"]


def test_a_failed_pair_sends_no_request(bench):
    bench.watch.told(QpFailed(bench.to.qpn, "RETRY_EXC", 0, ""))
    bench.sends(0)
    assert bench.broken == ["requests_in_order"]
    bench.gets(0, expects=1)
    assert bench.broken == ["requests_in_order"], "the other pair lives"


def test_a_damaged_frame_is_not_heard(bench):
    bench.sends(0)
    frame = bytearray(bench.frame(bench.to, Opcode.ACKNOWLEDGE, LAST, outgoing=False, aeth=Aeth(0x1F, 0)))
    frame[-1] ^= 1
    bench.watch.came(bytes(frame), 0)
    bench.watch.told(QpStepped(bench.to.qpn, "requester", "sending", "ack_some", "sending", LAST))
    assert bench.broken == []


def test_all_rules_have_a_case_here():
    source = Path(__file__).read_text(encoding="utf-8")
    assert all(f'["{rule}"]' in source for rule in ENDPOINT_RULES if rule not in IRN_RULES)
