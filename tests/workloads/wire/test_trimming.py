"""What is left of a packet that a full queue cut, byte by byte, and what enters the reserve."""

from __future__ import annotations

import pytest

from tests.support.roce_frames import answer, arp, envelope, request
from workloads.rc.captured import parse_frame
from workloads.wire import Bth, Opcode, Packet, Sack, decode_packet, encode_packet, icrc_is_valid, icrc_of
from workloads.wire.headers import Aeth
from workloads.wire.trimming import TRIMMED_DSCP, for_reserve, trim, trimmed_icrc

DATA = (Opcode.SEND_MIDDLE, Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM, Opcode.WRITE_MIDDLE)


def cut_of(frame: bytes) -> bytes:
    cut = trim(frame)
    assert cut is not None
    return cut


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("opcode", DATA)
def test_the_headers_stay_and_the_payload_goes(opcode: Opcode, ipv6: bool) -> None:
    frame = request(77, opcode=opcode, payload=bytes(range(61)), ipv6=ipv6)
    before, after = decode_packet(frame), decode_packet(cut_of(frame))
    assert before is not None
    assert after is not None
    assert before.bth.pad == 3
    assert (after.bth.pad, bytes(after.payload)) == (0, b"")
    assert after.envelope.tos == TRIMMED_DSCP << 2 | before.envelope.tos & 3
    assert (after.reth, after.imm) == (before.reth, before.imm)
    assert (after.bth.opcode, after.bth.psn, after.bth.dest_qpn) == (opcode, 77, before.bth.dest_qpn)
    assert len(cut_of(frame)) == len(frame) - 64


@pytest.mark.parametrize("ipv6", [False, True])
def test_who_knows_nothing_of_trimming_sees_a_damaged_packet(ipv6: bool) -> None:
    """And who does, here the checkers' own reader, sees that the headers are whole."""
    cut = cut_of(request(1, ipv6=ipv6))
    assert not icrc_is_valid(cut)
    assert cut[-4:] == trimmed_icrc(cut[14:-4]) == bytes(~byte & 0xFF for byte in icrc_of(cut[14:-4]))
    seen = parse_frame(cut)
    assert seen is not None
    assert seen.trimmed
    assert not seen.icrc_valid


@pytest.mark.parametrize("at", [-1, -20, 45, 51])
def test_what_was_damaged_before_stays_damaged(at: int) -> None:
    bad = bytearray(request(1))
    bad[at] ^= 4
    seen = parse_frame(cut_of(bytes(bad)))
    assert seen is not None
    assert not seen.trimmed


def test_the_mark_alone_makes_no_trimmed_packet() -> None:
    whole = parse_frame(request(1, tos=TRIMMED_DSCP << 2))
    damaged = parse_frame(request(1, tos=TRIMMED_DSCP << 2)[:-4] + bytes(4))
    for seen in (whole, damaged):
        assert seen is not None
        assert not seen.trimmed


def plain(opcode: Opcode, payload: bytes = b"") -> bytes:
    return encode_packet(Packet(envelope(1, 2), Bth(opcode, 5, 9), payload))


def irn_answer() -> bytes:
    return encode_packet(
        Packet(envelope(2, 1), Bth(Opcode.IRN_ANSWER, 5, 9), aeth=Aeth(0x60, 3), sack=Sack(4, 9))
    )  # fmt: skip


def test_what_enters_the_reserve() -> None:
    """Data without its payload; what carries none, as it is; nothing of others."""
    data = request(3)
    assert for_reserve(data) == (trim(data), True)
    assert for_reserve(cut_of(data)) == (cut_of(data), False)
    for small in (answer(3), irn_answer(), plain(Opcode.CNP, bytes(16)), plain(Opcode.SEND_ONLY)):
        assert for_reserve(small) == (small, False)
    for other in (arp(), plain(Opcode.UC_SEND_MIDDLE, bytes(64)), data[:50], data[:12], bytes(60)):
        assert for_reserve(other) is None


def test_lengths_that_contradict_the_frame_are_not_trimmed() -> None:
    frame = bytearray(request(3))
    frame[39] += 40
    assert trim(bytes(frame)) is None
