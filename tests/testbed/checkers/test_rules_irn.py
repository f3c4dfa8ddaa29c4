"""What a capture of an IRN connection must show: each rule kept, and broken."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.checkers.rules import Sighting, Violations
from testbed.checkers.rules_irn import IrnConnectionRules
from workloads.rc.captured import parse_frame
from workloads.wire import Aeth, Bth, Envelope, ImmDt, Opcode, Packet, Reth, Sack, encode_packet, psn_add
from workloads.wire.trimming import trim

MTU, FIRST_PSN, VA = 256, 0xFFFFFC, 0x1000
THERE = Envelope(bytes(5) + b"\1", bytes(5) + b"\2", bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
LENGTH = 3 * MTU


class Bench:
    def __init__(self, *, in_order: bool = True, window: int = 8) -> None:
        self.violations = Violations()
        self.rules = IrnConnectionRules(
            self.violations, first_psn=FIRST_PSN, path_mtu=MTU, window_packets=window, in_order=in_order
        )
        self.seen = Sighting({})

    def sends(self, at: int, *, delivered: bool = True, **changes: Any) -> None:
        """Packet `at` of messages of three; it goes on to the receiver."""
        place = at % 3
        fields = {
            "opcode": (Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)[place], "size": MTU,
            "va": VA + at * MTU, "length": LENGTH,
        } | changes  # fmt: skip
        opcode = fields["opcode"]
        packet = Packet(
            THERE, Bth(opcode, 7, psn_add(FIRST_PSN, at)), bytes(fields["size"]),
            reth=Reth(fields["va"], 9, fields["length"]) if opcode != Opcode.WRITE_MIDDLE else None,
            imm=ImmDt(1) if opcode == Opcode.WRITE_ONLY_IMM else None,
        )  # fmt: skip
        frame = parse_frame(encode_packet(packet))
        assert frame is not None
        self.rules.sent(frame, hash(frame.payload), self.seen)
        if delivered:
            self.rules.left(frame)

    def trims(self, at: int, *, here: bool = True) -> None:
        """What left of packet `at` loses its payload, at a port of this switch or before."""
        packet = Packet(THERE, Bth(Opcode.WRITE_ONLY, 7, psn_add(FIRST_PSN, at)), bytes(MTU), reth=Reth(0, 9, LENGTH))
        frame = parse_frame(trim(encode_packet(packet)) or b"")
        assert frame is not None
        assert frame.trimmed
        self.rules.left_trimmed(frame, here=here)

    def answers(self, syndrome: int, cumulative: int, selective: int, msn: int = 0) -> None:
        sack = Sack(psn_add(FIRST_PSN, cumulative), psn_add(FIRST_PSN, selective))
        packet = Packet(THERE, Bth(Opcode.IRN_ANSWER, 7, sack.selective), aeth=Aeth(syndrome, msn), sack=sack)
        frame = parse_frame(encode_packet(packet))
        assert frame is not None
        self.rules.answered(frame, self.seen)
        self.rules.answer_left(frame, self.seen)

    @property
    def broken(self) -> list[int]:
        return sorted(self.violations.counts)


def test_an_honest_connection_breaks_nothing() -> None:
    b = Bench()
    b.sends(0)
    b.sends(1, delivered=False)
    b.sends(2)
    b.answers(0, 1, 0)
    b.answers(0x60, 1, 2)
    b.sends(1)
    b.answers(0, 3, 1, 1)
    for at in range(3, 6):
        b.sends(at)
        b.answers(0, at + 1, at, 1 if at < 5 else 2)
    b.rules.finish()
    assert b.violations.texts == []


@pytest.mark.parametrize(
    "changes",
    [
        {"opcode": Opcode.WRITE_MIDDLE}, {"va": VA}, {"length": LENGTH - 4}, {"size": MTU - 4},
        {"opcode": Opcode.WRITE_FIRST}, {"opcode": Opcode.WRITE_ONLY, "length": MTU},
    ],
    ids=str,
)  # fmt: skip
def test_a_packet_that_does_not_continue_its_message(changes: dict[str, Any]) -> None:
    b = Bench()
    b.sends(0)
    b.sends(1, **changes)
    assert b.broken == [3]


def test_a_message_that_ends_early() -> None:
    b = Bench()
    b.sends(0)
    b.sends(1, opcode=Opcode.WRITE_ONLY_IMM)
    assert b.broken == [3]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ((0, 3, 0, 0), 4),  # 2 was not delivered
        ((0, 2, 2, 0), 5),  # an answer about what did not come
        ((0x60, 2, 1, 0), 5),  # a gap behind nothing
        ((0, 0, 1, 0), 5),  # a gap, and it says none
    ],
)
def test_an_answer_that_lies(said: tuple[int, int, int, int], rule: int) -> None:
    b = Bench()
    b.sends(0)
    b.sends(1)
    b.answers(*said)
    assert b.broken == [rule]


def test_a_packet_is_answered_once() -> None:
    b = Bench()
    b.sends(0)
    b.answers(0, 1, 0)
    b.answers(0, 1, 0)
    assert b.broken == [5]
    copied = Bench(in_order=False)
    copied.sends(0)
    copied.answers(0, 1, 0)
    copied.answers(0, 1, 0)
    assert copied.broken == [], "a fault may have made a copy behind the switch"


@pytest.mark.parametrize(("cumulative", "msn"), [(1, 1), (3, 0)])
def test_nothing_is_taken_back(cumulative: int, msn: int) -> None:
    b = Bench()
    for at in range(3):
        b.sends(at)
    b.answers(0, 3, 2, 1)
    b.answers(0, cumulative, 0, msn)
    assert b.broken == [4]


def test_what_was_asked_for_is_sent_again() -> None:
    b = Bench()
    b.sends(0, delivered=False)
    b.sends(1)
    b.answers(0x60, 0, 1)
    b.rules.finish()
    assert b.broken == [5]


def test_no_more_than_the_cap_is_in_flight() -> None:
    b = Bench(window=2)
    for at in range(3):
        b.sends(at)
    assert b.broken == [9]


def test_an_ack_of_plain_roce_is_no_answer_of_irn() -> None:
    b = Bench()
    b.sends(0)
    frame = parse_frame(encode_packet(Packet(THERE, Bth(Opcode.ACKNOWLEDGE, 7, FIRST_PSN), aeth=Aeth(0x1F, 0))))
    assert frame is not None
    b.rules.answered(frame, b.seen)
    assert b.broken == [4]


TRIMMED = 0x65


def test_a_packet_that_was_trimmed_is_asked_for_and_sent_again() -> None:
    b = Bench()
    for at in range(3):
        b.sends(at)
    b.trims(1)
    b.answers(0, 1, 0)
    b.answers(TRIMMED, 1, 1)
    b.answers(0x60, 1, 2)
    b.sends(1)
    b.answers(0, 3, 1)
    b.rules.finish()
    assert b.broken == []


def test_a_packet_before_the_switch_may_have_been_trimmed_too() -> None:
    b = Bench()
    b.sends(0, delivered=False)
    b.trims(0, here=False)
    b.answers(TRIMMED, 0, 0)
    b.sends(0)
    b.answers(0, 1, 0)
    b.rules.finish()
    assert b.broken == []


def test_nobody_asks_by_name_for_what_was_not_trimmed() -> None:
    b = Bench()
    b.sends(0)
    b.answers(TRIMMED, 0, 0)
    assert b.broken == [10]
    again = Bench()
    again.sends(0)
    again.trims(0)
    again.answers(TRIMMED, 0, 0)
    again.answers(TRIMMED, 0, 0)
    assert 10 in again.broken, "once for each"


def test_what_lost_its_payload_was_not_delivered() -> None:
    b = Bench()
    b.sends(0)
    b.sends(1)
    b.trims(0)
    b.answers(0, 2, 1)
    assert b.broken == [4]


def test_another_copy_of_it_may_have_been() -> None:
    b = Bench()
    b.sends(0)
    b.sends(0)
    b.trims(0)
    b.answers(0, 1, 0)
    assert b.broken == []


def test_what_was_asked_for_by_name_is_sent_again() -> None:
    b = Bench()
    for at in range(3):
        b.sends(at)
    b.trims(2)
    b.answers(TRIMMED, 2, 2)
    b.rules.finish()
    assert b.broken == [5]


def test_what_left_trimmed_comes_in_the_end() -> None:
    b = Bench()
    b.sends(0)
    b.trims(0)
    b.rules.finish()
    assert b.broken == [10]
