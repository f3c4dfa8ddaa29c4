"""The checkers' own reader of frames against the codec and against captures of the Linux stack."""

from __future__ import annotations

import struct

import pytest

from workloads.rc.captured import FrameRole, MalformedFrame, parse_frame
from workloads.wire import (
    OPCODES,
    Aeth,
    AtomicAckEth,
    AtomicEth,
    Bth,
    Deth,
    Envelope,
    Ieth,
    ImmDt,
    Packet,
    Reth,
    Sack,
    WireError,
    decode_packet,
    encode_packet,
    icrc_is_valid,
)

V4 = Envelope(b"\2" * 6, b"\4" * 6, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), tos=2)
V6 = Envelope(b"\2" * 6, b"\4" * 6, bytes(range(16)), bytes(range(16, 32)), tos=0xA5, flow_label=0x12345)
EXTENSIONS = {"deth": Deth(1, 2), "reth": Reth(3, 4, 777), "atomic": AtomicEth(1, 2, 3, 4), "aeth": Aeth(0x60, 9),
              "atomic_ack": AtomicAckEth(6), "imm": ImmDt(5), "ieth": Ieth(8),
              "sack": Sack(9, 10)}  # fmt: skip


@pytest.mark.parametrize("envelope", [V4, V6], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("size", range(4))
def test_agrees_with_the_codec(envelope, size):
    for opcode, info in OPCODES.items():
        headers = {name: EXTENSIONS[name] for name in info.extensions}
        payload = bytes(range(40, 60 + size))
        frame = encode_packet(Packet(envelope, Bth(opcode, 0x123456, 0xFEDCBA, ack_req=1), payload, **headers))
        seen = parse_frame(frame)
        assert seen is not None
        assert seen.connection == (envelope.src_ip, envelope.dst_ip, 0x123456)
        assert (seen.opcode, seen.psn, seen.ack_req, seen.payload) == (opcode, 0xFEDCBA, 1, payload)
        assert seen.icrc_valid
        assert (seen.role is FrameRole.DATA) == (info.is_request and opcode < 0x20)
        assert seen.reth_length == (777 if "reth" in info.extensions else -1)
        assert seen.reth_va == (3 if "reth" in info.extensions else -1)
        assert seen.starts == (info.is_request and opcode < 0x20 and info.starts and opcode not in (0x0A, 0x0B))
        assert seen.sack == ((9, 10) if opcode == 0xC1 else None)
        assert (seen.role is FrameRole.ANSWER) == (opcode in (0x11, 0xC1))
        if seen.role is FrameRole.ANSWER:
            assert (seen.syndrome, seen.msn) == (0x60, 9)
        damaged = bytearray(frame)
        damaged[-6] ^= 1
        again = parse_frame(bytes(damaged))
        assert again is not None
        assert not again.icrc_valid


@pytest.mark.parametrize("envelope", [V4, V6], ids=["IPv4", "IPv6"])
def test_what_a_switch_may_change_is_outside_the_head(envelope):
    def head(**changes):
        from dataclasses import replace

        packet = Packet(replace(envelope, **changes), Bth(7, 1, 2), b"\1" * 64)
        seen = parse_frame(encode_packet(packet))
        assert seen is not None
        return seen.head

    plain = head()
    assert head(tos=envelope.tos ^ 1, ttl=3) == plain
    assert head(sport=0xC001) != plain
    assert head(src_mac=b"\6" * 6) != plain


def test_captured_frames(rxe_captures):
    """Every frame of the Linux stack reads as the codec reads it, iCRC included."""
    checked = 0
    for path in sorted(rxe_captures.glob("*.pcap")):
        data, at = path.read_bytes(), 24
        while at < len(data):
            size = struct.unpack_from("<I", data, at + 8)[0]
            frame = data[at + 16 : at + 16 + size]
            at += 16 + size
            packet, seen = decode_packet(frame), parse_frame(frame)
            if packet is None:
                assert seen is None
                continue
            assert seen is not None
            assert (seen.opcode, seen.psn, seen.connection) == (packet.bth.opcode, packet.bth.psn, packet.connection)
            assert seen.payload == bytes(packet.payload)
            assert seen.icrc_valid == icrc_is_valid(frame)
            checked += 1
    assert checked > 300


@pytest.mark.parametrize("envelope", [V4, V6], ids=["IPv4", "IPv6"])
def test_truncation_never_raises_anything_else(envelope):
    frame = encode_packet(Packet(envelope, Bth(6, 1, 2), b"\1" * 8, reth=Reth(1, 2, 8)))
    for length in range(len(frame)):
        try:
            seen = parse_frame(frame[:length])
        except MalformedFrame:
            with pytest.raises(WireError):
                decode_packet(frame[:length])
        else:
            assert seen is None


def test_unknown_opcode_and_foreign_frames():
    frame = bytearray(encode_packet(Packet(V4, Bth(4, 1, 2), b"\1" * 8)))
    frame[42] = 0xC2
    with pytest.raises(MalformedFrame, match="unknown opcode 0xc2"):
        parse_frame(bytes(frame))
    frame[36:38] = (53).to_bytes(2, "big")
    assert parse_frame(bytes(frame)) is None
