"""Round trips, truncation and fuzz of the packet codec."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.pcap import pcap_frames
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
    Opcode,
    Packet,
    Reth,
    Sack,
    WireError,
    decode_packet,
    encode_packet,
    icrc_is_valid,
    opcode_name,
    replace_payload,
)

ETHERNET_AND_ONE = 15
"""a frame that is shorter says nothing about IP"""
V4 = Envelope(bytes(5) + b"\1", bytes(5) + b"\2", bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), sport=0xD234, tos=2)
V6 = replace(V4, src_ip=bytes(15) + b"\1", dst_ip=bytes(15) + b"\2", flow_label=0x12345)
EXTENSIONS = {
    "deth": Deth(0x11111111, 0x222222),
    "reth": Reth(0x1122334455667788, 0x99AABBCC, 0x01020304),
    "atomic": AtomicEth(1 << 63, 2, 3, 4),
    "aeth": Aeth(0x1F, 0xABCDEF),
    "atomic_ack": AtomicAckEth(0xFFFFFFFFFFFFFFFF),
    "imm": ImmDt(0xDEADBEEF),
    "ieth": Ieth(0x55667788),
    "sack": Sack(0x99AABBCC, 0xDDEEFF00),
}


def packet_of(opcode: int, size: int, envelope: Envelope, psn: int = 0xFFFFFC) -> Packet:
    extensions = {name: EXTENSIONS[name] for name in OPCODES[opcode].extensions}
    return Packet(envelope, Bth(opcode, 0x123456, psn, ack_req=1), bytes(range(size)), **extensions)  # type: ignore[arg-type]


@pytest.mark.parametrize("envelope", [V4, V6], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 61])
@pytest.mark.parametrize("opcode", OPCODES, ids=opcode_name)
def test_round_trip(opcode: int, size: int, envelope: Envelope) -> None:
    packet = packet_of(opcode, size, envelope)
    frame = encode_packet(packet)
    assert icrc_is_valid(frame)
    again = decode_packet(frame)
    assert again is not None
    assert bytes(again.payload) == packet.payload
    assert again.bth == replace(packet.bth, pad=-size & 3)
    assert replace(again, payload=packet.payload, bth=packet.bth) == packet
    assert encode_packet(again) == frame
    assert frame[12:14].hex() == ("0800" if envelope is V4 else "86dd")


def test_the_table_of_headers_has_the_published_sizes() -> None:
    sizes = {kind.LAYOUT.size for kind in (Bth,)}
    assert sizes == {12}
    expected = {"deth": 8, "reth": 16, "atomic": 28, "aeth": 4, "atomic_ack": 8, "imm": 4, "ieth": 4, "sack": 8}
    assert {name: header.LAYOUT.size for name, header in EXTENSIONS.items()} == expected


@pytest.mark.parametrize("envelope", [V4, V6], ids=["IPv4", "IPv6"])
def test_every_truncation_is_refused(envelope: Envelope) -> None:
    for opcode in OPCODES:
        frame = encode_packet(packet_of(opcode, 5, envelope))
        for size in range(len(frame)):
            with contextlib.suppress(WireError):
                assert not icrc_is_valid(frame[:size])
            if size < ETHERNET_AND_ONE:
                assert decode_packet(frame[:size]) is None
            else:
                with pytest.raises(WireError, match=r"is truncated|IP length says"):
                    decode_packet(frame[:size])


def test_lengths_that_cut_headers_are_refused() -> None:
    """The frame is long enough, its length fields say otherwise."""
    for opcode in OPCODES:
        whole = encode_packet(packet_of(opcode, 5, V6))
        for cut in range(1, len(whole) - 62 + 1):
            frame = bytearray(whole)
            size = len(whole) - 54 - cut
            frame[18:20] = frame[58:60] = size.to_bytes(2, "big")
            try:
                packet = decode_packet(bytes(frame))
            except WireError:
                continue
            assert packet is not None
            assert len(packet.payload) < 5


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((42, 0x99), "unknown opcode 0x99"),
        ((17, 0xFF), "UDP ends at byte 82, IP at byte 269"),
        ((24, 0x00), "IPv4 header checksum 0x00[0-9a-f]{2} is wrong"),
    ],
)
def test_error_texts(change: tuple[int, int], text: str) -> None:
    frame = bytearray(encode_packet(packet_of(Opcode.WRITE_ONLY, 5, V4)))
    frame[change[0]] = change[1]
    with pytest.raises(WireError, match=text):
        decode_packet(frame)


@pytest.mark.parametrize(("at", "value"), [(12, 0x81), (14, 0x46), (23, 6), (36, 0), (20, 0x20)])
def test_other_protocols_are_no_packets(at: int, value: int) -> None:
    """Ethertype, IP options, TCP, another UDP port, a fragment."""
    frame = bytearray(encode_packet(packet_of(Opcode.WRITE_ONLY, 5, V4)))
    frame[at] = value
    assert decode_packet(frame) is None
    assert not icrc_is_valid(frame)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_never_raise_anything_else(data: bytes) -> None:
    for frame in (data, b"\0" * 12 + b"\x08\x00\x45" + data, b"\0" * 12 + b"\x86\xdd\x60" + data):
        with contextlib.suppress(WireError):
            decode_packet(frame)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mangled_packets_never_raise_anything_else(data: st.DataObject) -> None:
    opcode = data.draw(st.sampled_from(sorted(OPCODES)))
    frame = bytearray(
        encode_packet(packet_of(opcode, data.draw(st.integers(0, 9)), data.draw(st.sampled_from([V4, V6]))))
    )
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    del frame[data.draw(st.integers(0, len(frame))) :]
    with contextlib.suppress(WireError):
        decode_packet(frame)


def test_a_missing_or_misplaced_extension_header_is_refused() -> None:
    with pytest.raises(WireError, match="WRITE_ONLY takes"):
        encode_packet(Packet(V4, Bth(Opcode.WRITE_ONLY, 1, 1)))
    with pytest.raises(WireError, match="SEND_ONLY takes no extension headers"):
        encode_packet(Packet(V4, Bth(Opcode.SEND_ONLY, 1, 1), imm=ImmDt(1)))
    with pytest.raises(WireError, match="unknown opcode 0xc2"):
        encode_packet(Packet(V4, Bth(0xC2, 1, 1)))
    with pytest.raises(WireError, match=r"BTH.psn: 16777216 does not fit 24 bits"):
        encode_packet(Packet(V4, Bth(Opcode.SEND_ONLY, 1, 1 << 24)))


@pytest.mark.parametrize(
    "header",
    [Reth(1 << 64, 0, 0), Reth(-1, 0, 0), Reth(0, 1 << 32, 0), Reth(0, 0, 1 << 32), ImmDt(1 << 32), ImmDt(-1)],
    ids=str,
)
def test_an_extension_header_whose_value_does_not_fit_is_refused(header: Reth | ImmDt) -> None:
    with pytest.raises(WireError, match=r"(RETH|ImmDt)\.\w+: -?\d+ does not fit"):
        header.encode()


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_extension_headers_are_as_their_tables_say(va: int, rkey: int, length: int) -> None:
    reth, imm = Reth(va, rkey, length), ImmDt(rkey)
    assert reth.encode() == Reth.LAYOUT.pack(va=va, rkey=rkey, length=length)
    assert imm.encode() == ImmDt.LAYOUT.pack(value=rkey)
    assert (Reth.decode(reth.encode()), ImmDt.decode(imm.encode())) == (reth, imm)


def test_a_replaced_payload_keeps_every_header(rxe_captures: Path) -> None:
    for frame in pcap_frames(rxe_captures / "sendimm.A.pcap") + pcap_frames(rxe_captures / "send_ipv6.A.pcap"):
        packet = decode_packet(frame)
        assert packet is not None
        if len(packet.payload) < 8:
            continue
        changed = replace_payload(frame, b"ABCD", 2)
        assert icrc_is_valid(changed)
        again = decode_packet(changed)
        assert again is not None
        assert bytes(again.payload) == bytes(packet.payload[:2]) + b"ABCD" + bytes(packet.payload[6:])
        assert replace(again, payload=packet.payload) == packet
        assert replace_payload(frame, packet.payload) == frame
        with pytest.raises(WireError, match="do not fit"):
            replace_payload(frame, packet.payload, 1)
