"""Forged frames: what each is, that damage is never made genuine, and how they travel."""

from __future__ import annotations

import pytest

from testbed.faults.connections import Connection
from testbed.faults.events import FaultStruck
from testbed.faults.forge import FORGERIES, forge
from testbed.faults.link_filter import LinkFilter
from testbed.faults.matching import ConnectionTable
from testbed.faults.model import Drop, Forge
from testbed.faults.way import LinkWay
from testbed.manual.pages import PARTS
from topologies import Direction
from workloads.collectives.ina_header import InaHeader
from workloads.wire import Aeth, Bth, Envelope, ImmDt, Opcode, Packet, Reth, decode_packet, encode_packet, icrc_is_valid

HERE, THERE = bytes([10, 77, 0, 2]), bytes([10, 77, 0, 3])
ENVELOPE = Envelope(bytes(6), bytes(range(6)), HERE, THERE)
HEADER = InaHeader(1, 0, 2, 5, 2).encode()
FIRST = encode_packet(Packet(ENVELOPE, Bth(Opcode.WRITE_FIRST, 7, 100), HEADER + bytes(48), reth=Reth(64, 9, 80)))
MIDDLE = encode_packet(Packet(ENVELOPE, Bth(Opcode.WRITE_MIDDLE, 7, 101), bytes(64)))
LAST = encode_packet(Packet(ENVELOPE, Bth(Opcode.WRITE_LAST_IMM, 7, 102), bytes(32), imm=ImmDt(5)))
ACK = encode_packet(Packet(ENVELOPE, Bth(Opcode.ACKNOWLEDGE, 7, 103), aeth=Aeth(0x1F, 4)))
FRAMES = (FIRST, MIDDLE, LAST, ACK)


@pytest.mark.parametrize("what", FORGERIES)
def test_every_word_makes_something_with_a_right_icrc_and_is_explained(what):
    made = [frame for frame in (forge(what, original) for original in FRAMES) if frame is not None]
    assert made
    assert not set(made) & set(FRAMES)
    if what != "not_roce":
        assert all(icrc_is_valid(frame) for frame in made)
    assert f"| `{what}` | {FORGERIES[what].meaning} |" in PARTS["forgeries"]()


@pytest.mark.parametrize("what", FORGERIES)
def test_a_damaged_packet_is_not_forged(what):
    """Else the damage would carry a right iCRC."""
    for frame in FRAMES:
        damaged = bytearray(frame)
        damaged[-5] ^= 1
        assert forge(what, bytes(damaged)) is None


def test_what_some_of_them_are():
    def made(what, frame):
        packet = decode_packet(forge(what, frame))
        assert packet is not None
        return packet

    assert made("foreign", FIRST).envelope.src_ip == bytes([10, 255, 255, 254])
    assert made("reflected", MIDDLE).envelope.src_ip == THERE
    assert InaHeader.decode(made("overrun", FIRST).payload).msg_id == 5 + (1 << 20)
    assert made("stray", LAST).bth.dest_qpn == 7 | 0x80_0000
    assert made("misplaced", FIRST).bth.opcode == Opcode.WRITE_MIDDLE
    assert made("restarted", MIDDLE).bth.opcode == Opcode.WRITE_FIRST
    assert made("denied", FIRST).reth.rkey == 8
    assert made("nak_again", ACK).aeth.syndrome == 0x60
    assert made("padded", MIDDLE).bth.pad == 1
    assert forge("misplaced", ACK) is None
    assert forge("nak_fatal", MIDDLE) is None


def _filter(*faults):
    table = ConnectionTable([Connection(0, (HERE, THERE, 7), (THERE, HERE, 8), 100, (3,))])
    return LinkFilter(LinkWay(1, "a-b", Direction.UP, table), faults)


@pytest.mark.parametrize("before", [True, False])
def test_the_packet_goes_on_beside_its_forgery(before):
    fault = Forge("forge-1", ("a-b",), what="changed", before=before)
    filter_ = _filter(fault)
    frames = [delivery.frame for delivery in filter_.admit(MIDDLE, 5)]
    forged = forge("changed", MIDDLE)
    assert frames == ([forged, MIDDLE] if before else [MIDDLE, forged])
    assert isinstance(filter_.next_event(), FaultStruck)


def test_a_forgery_may_come_later_and_one_that_fits_nothing_is_no_strike():
    late = _filter(Forge("forge-1", ("a-b",), what="foreign", delay_ns=30))
    assert [(d.at, d.frame == MIDDLE) for d in late.admit(MIDDLE, 5)] == [(5, True), (35, False)]
    idle = _filter(Forge("forge-1", ("a-b",), what="nak_fatal"))
    assert [d.frame for d in idle.admit(MIDDLE, 5)] == [MIDDLE]
    assert idle.next_event() is None


def test_what_is_lost_before_is_not_forged():
    filter_ = _filter(Drop("drop-1", ("a-b",)), Forge("forge-2", ("a-b",), what="foreign"))
    assert filter_.admit(MIDDLE, 5) == ()


@pytest.mark.parametrize("imm", [None, ImmDt(5)], ids=["middle", "last"])
def test_under_irn_what_lacks_a_header_is_not_made_of_a_later_packet_of_a_message(imm):
    """Its first byte is an element: without it, it would be another contribution."""
    opcode = Opcode.WRITE_ONLY if imm is None else Opcode.WRITE_ONLY_IMM
    later = encode_packet(Packet(ENVELOPE, Bth(opcode, 7, 101), b"\x11" * 64, reth=Reth(128, 9, 144), imm=imm))
    made = forge("stray_plain", later)
    assert made is not None
    assert bytes(decode_packet(made).payload) == b"\x11" * 64
    assert forge("old_plain", later) is None
