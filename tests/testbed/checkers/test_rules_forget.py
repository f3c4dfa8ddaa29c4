"""What the rules of a connection remember does not grow with what it sent."""

from __future__ import annotations

from collections.abc import Sized

import pytest

from testbed.checkers import rules_hosts, rules_irn
from testbed.checkers.rules import Sighting, Violations
from testbed.checkers.rules_hosts import ConnectionRules
from testbed.checkers.rules_irn import IrnConnectionRules
from workloads.rc.captured import RoceFrame, parse_frame
from workloads.wire import Aeth, Bth, Envelope, Nak, Opcode, Packet, Reth, Sack, encode_packet
from workloads.wire.trimming import trim

KEPT, SENT, MTU = 50, 1_000, 256
THERE = Envelope(bytes(5) + b"\1", bytes(5) + b"\2", bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))


def frame_of(packet: Packet, *, trimmed: bool = False) -> RoceFrame:
    octets = encode_packet(packet)
    frame = parse_frame(trim(octets) or b"" if trimmed else octets)
    assert frame is not None
    return frame


def data(psn: int, *, trimmed: bool = False) -> RoceFrame:
    packet = Packet(THERE, Bth(Opcode.WRITE_ONLY, 7, psn), bytes(MTU), reth=Reth(psn * MTU, 9, MTU))
    return frame_of(packet, trimmed=trimmed)


def answer(psn: int, syndrome: int, *, irn: bool) -> RoceFrame:
    if irn:
        return frame_of(Packet(THERE, Bth(Opcode.IRN_ANSWER, 7, psn), aeth=Aeth(syndrome, 0), sack=Sack(psn, psn)))
    return frame_of(Packet(THERE, Bth(Opcode.ACKNOWLEDGE, 7, psn), aeth=Aeth(syndrome, 0)))


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("kind", [ConnectionRules, IrnConnectionRules])
def test_of_old_packets_nothing_is_left(monkeypatch, kind: type[ConnectionRules], in_order: bool) -> None:
    """Each packet leaves in time and once more late, each tenth trimmed at first; a NAK asks for each; every third
    answer never enters the switch."""
    for module in (rules_hosts, rules_irn):
        monkeypatch.setattr(module, "KEPT_PSNS", KEPT)
    irn = kind is IrnConnectionRules
    rules = kind(Violations(), first_psn=0, path_mtu=MTU, window_packets=8, in_order=in_order)
    seen = Sighting({})
    for psn in range(SENT):
        rules.sent(data(psn), psn, seen)
        rules.left(data(psn))
        if psn % 10 == 0:
            rules.left_trimmed(data(psn, trimmed=True), here=True)
        if psn:
            rules.left(data(psn - 1))
        if psn % 3:
            for syndrome in (Nak.PSN_SEQUENCE, 0):
                rules.answered(answer(psn, syndrome, irn=irn), seen)
                rules.answer_left(answer(psn, syndrome, irn=irn), seen)
        rules.sent(data(psn), psn, seen)
    sizes = {
        name: len(value) for name in dir(rules) if isinstance(value := getattr(rules, name), Sized) and name[:2] != "__"
    }
    assert sizes
    assert {name: size for name, size in sizes.items() if size > KEPT + 8} == {}
