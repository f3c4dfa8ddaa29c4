"""Layouts are declared once: the constants of C and eBPF and the tables of documents are those that are made from them,
and each quick codec reads and writes the same bits."""

from __future__ import annotations

import ast
import ctypes
import re
import struct
from pathlib import Path

import pytest

from tests.support.layouts import ROOT, made
from tests.support.native import require_native
from workloads.datagrams.transport import DATAGRAMS
from workloads.wire import places
from workloads.wire.aggregation import AGGREGATION, AggregationHeader, decode_datagram, encode_datagram
from workloads.wire.envelope import ETHERNET, IPV4, IPV6, UDP, Envelope, decode_envelope, encode_envelope
from workloads.wire.headers import Bth, Header, ImmDt, Reth, Sack
from workloads.wire.held_map import HELD_MAP, HELD_MAP_BYTES, HeldMap, decode_held_map
from workloads.wire.icrc import icrc_masks, icrc_of
from workloads.wire.layout import Field, Layout, packer_of
from workloads.wire.opcodes import OPCODES
from workloads.wire.packet import EXTENSIONS
from workloads.wire.pfc import PFC, decode_pfc, encode_pfc
from workloads.wire.recognised import recognise


@pytest.mark.parametrize("path", made())
def test_what_is_made_from_layouts_is_up_to_date(path: str) -> None:
    """`python -m tests.support.layouts` writes it again."""
    assert (ROOT / path).read_text(encoding="utf-8").splitlines() == made()[path].splitlines()


def test_c_knows_how_long_the_headers_of_every_opcode_are() -> None:
    probe = require_native("roce_probe", [Path(__file__).resolve().parents[2] / "support" / "roce_probe.c"])
    probe.probe_extension_bytes.argtypes = [ctypes.c_uint8]
    for code in range(256):
        info = OPCODES.get(code)
        is_data = info is not None and info.is_request and code < 0x20
        expected = sum(EXTENSIONS[name].LAYOUT.size for name in info.extensions) if info and is_data else -1
        assert probe.probe_extension_bytes(code) == expected, hex(code)


def test_every_field_has_its_octets() -> None:
    layout = Bth.LAYOUT
    for field in layout.fields:
        first, last, low = layout.octets(field.name)
        only = layout.pack(**{each.name: (1 << field.bits) - 1 if each is field else 0 for each in layout.fields})
        assert layout.width(field.name) == field.bits
        assert int.from_bytes(only[first : last + 1], "big") >> low == (1 << field.bits) - 1
        assert not any(only[:first])
        assert not any(only[last + 1 :])


def test_a_layout_of_whole_octets_has_a_packer_and_no_other_has() -> None:
    for header in (Reth, ImmDt, Sack):
        for values in singles(header.LAYOUT):
            assert (
                header.LAYOUT.packer().pack(*values.values())
                == header.LAYOUT.pack(**values)
                == header(**values).encode()
            )
    with pytest.raises(ValueError, match=r"BTH: solicited, migreq, .* are not 8, 16, 32 or 64 bits wide"):
        Bth.LAYOUT.packer()


def test_words_are_joined_signed_skipped_or_octets() -> None:
    layout = Layout(
        "x", Field("a", 4, ""), Field("b", 12, ""), Field("mac", 48, ""), Field("c", 8, ""), Field("d", 16, ""),
        Field("e", 24, ""),
    )  # fmt: skip
    words = layout.words(("a", "b"), octets=("mac",), signed=("c",), only=("a", "mac", "c"))
    assert words == "H6sb2x3x"
    octets = layout.pack(a=1, b=2, mac=0x0A0B0C0D0E0F, c=255, d=7, e=9)
    assert packer_of(words).unpack_from(octets) == (0x1002, b"\x0a\x0b\x0c\x0d\x0e\x0f", -1)
    assert packer_of(words).size == 9, "what is skipped at the end need not be there"
    with pytest.raises(ValueError, match="x: mac, e are not 8, 16, 32 or 64 bits wide"):
        layout.words(("a", "b"))
    assert layout.span("mac", 100) == slice(102, 108)


def test_every_codec_of_a_transport_is_made_from_a_layout() -> None:
    """No format in network byte order stands there in full."""
    written = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("wire", "rc", "uc", "datagrams", "transports")
        for path in (ROOT / "workloads" / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and re.fullmatch("[!>][0-9a-zA-Z ]+", str(node.value))
    ]
    assert not written


def test_places_are_those_of_frames() -> None:
    envelope = Envelope(b"\2\3\4\5\6\7", b"\2\3\4\5\6\x08", b"\x0a\0\0\1", b"\x0a\0\0\2", 0xC123, 0x5A, 63, 0x1234)
    frame = encode_envelope(envelope, 16) + bytes(16)
    assert frame[places.DST_MAC] + frame[places.SRC_MAC] == frame[places.MACS] == envelope.dst_mac + envelope.src_mac
    assert frame[places.SRC_IP] + frame[places.DST_IP] == frame[places.ADDRESSES] == envelope.src_ip + envelope.dst_ip
    assert (frame[places.TOS_AT], frame[places.TTL_AT], frame[places.PROTOCOL_AT]) == (0x5A, 63, 17)
    assert frame[places.FLOW] == envelope.src_ip + envelope.dst_ip + b"\xc1\x23" + (4791).to_bytes(2, "big")
    for at, value in (
        (places.ETHERTYPE_AT, 0x0800), (places.LENGTH_AT, 44), (places.IDENT_AT, 0x1234),
        (places.FRAGMENT_AT, 0x4000), (places.SPORT_AT, 0xC123), (places.DPORT_AT, 4791), (places.UDP_LENGTH_AT, 24),
        (places.UDP_CHECKSUM_AT, 0),
    ):  # fmt: skip
        assert int.from_bytes(frame[at : at + 2], "big") == value
    assert len(frame) == places.UDP_PAYLOAD_AT + 16
    six = encode_envelope(Envelope(bytes(6), bytes(6), bytes(range(16)), bytes(range(16, 32)), tos=3), 16)
    assert len(six) == places.UDP_PAYLOAD6_AT
    assert six[places.SRC_IP6_AT : places.UDP6_AT] == bytes(range(32))
    assert (six[places.PROTOCOL6_AT], six[places.TOS6_AT] >> 4) == (17, 3)


def singles(layout: Layout) -> list[dict[str, int]]:
    """Values of a header of which one field alone is not 0: its highest value, and 1."""
    zeros = dict.fromkeys((field.name for field in layout.fields), 0)
    return [
        zeros | {field.name: value} for field in layout.fields for value in dict.fromkeys(((1 << field.bits) - 1, 1))
    ]


@pytest.mark.parametrize("kind", [Bth, *EXTENSIONS.values()], ids=lambda kind: kind.LAYOUT.name)
def test_codecs_of_headers(kind: type[Header]) -> None:
    for values in singles(kind.LAYOUT):
        packed = kind.LAYOUT.pack(**values)
        assert kind(**values).encode() == packed
        assert kind.decode(packed) == kind(**values)


def test_codec_of_aggregation_datagrams() -> None:
    envelope = Envelope(bytes(6), bytes(6), bytes(4), bytes(4))
    fixed = {"version": 1, "policy": 4, "kind": 0, "fan_in0": 1, "nelem": 0}
    for single in singles(AGGREGATION):
        values = {name: fixed.get(name) or value for name, value in single.items()}
        count = values["nelem"] = min(single["nelem"], 2048)
        values["kind"] = min(single["kind"], 7)
        signed = {name: value - 256 if name.startswith("exponent") and value > 127 else value
                  for name, value in values.items() if name != "version"}  # fmt: skip
        frame = encode_datagram(envelope, 0xACE0, AggregationHeader(**signed), bytes(4 * count))
        assert frame[42:82] == AGGREGATION.pack(**values)
        found = decode_datagram(frame)
        assert found is not None
        assert found.header._asdict() == signed
        told = DATAGRAMS.identify(frame)
        assert told is not None
        assert told.sequence == values["sequence"]
        assert f"job {values['job']}" in told.flow


def test_codec_of_maps() -> None:
    for values in singles(HELD_MAP):
        if values["packets"] >= 64 or values["bits"] >> values["packets"] + 1:
            continue
        held = HeldMap(values["first"], values["packets"] + 1, values["bits"], values["newest"])
        assert held.encode() == HELD_MAP.pack(**values)
        if held.newest <= 0xFFFFFF or held.newest == 0xFFFFFFFF:
            assert decode_held_map(held.encode()) == held
    assert HELD_MAP.size == HELD_MAP_BYTES


def test_codec_of_pfc() -> None:
    quanta = {number: 1 << number | number for number in range(8)}
    frame = encode_pfc(b"\2\0\0\0\0\1", quanta)
    values = {f"time{number}": time for number, time in quanta.items()}
    assert frame[: PFC.size] == PFC.pack(
        dst=0x0180C2000001, src=0x020000000001, ethertype=0x8808, opcode=0x0101, reserved=0, enabled=0xFF, **values
    )
    assert decode_pfc(frame) == quanta


@pytest.mark.parametrize("address", [4, 16], ids=["IPv4", "IPv6"])
def test_codec_of_envelopes(address: int) -> None:
    envelope = Envelope(
        b"\2\3\4\5\6\7", b"\2\3\4\5\6\x08", bytes(range(address)), bytes(range(9, 9 + address)), 0xC123, 0x5A, 63,
        0x1234 if address == 4 else 0, 0x4000, 0xABCDE if address == 16 else 0, 0x4321,
    )  # fmt: skip
    frame = encode_envelope(envelope, 16) + struct.pack("!BBHII", 4, 0, 0xFFFF, 0x123456, 0x654321) + bytes(4)
    assert decode_envelope(frame) == (envelope, len(frame) - 16, len(frame))
    assert ETHERNET.unpack(frame)["src"] == int.from_bytes(envelope.src_mac, "big")
    ip = (IPV4 if address == 4 else IPV6).unpack(frame, 14)
    assert (ip["tos"], ip["ttl"], ip["src"]) == (0x5A, 63, int.from_bytes(envelope.src_ip, "big"))
    assert UDP.unpack(frame, len(frame) - 24) == {"sport": 0xC123, "dport": 4791, "length": 24, "checksum": 0x4321}
    found = recognise(frame)
    assert found is not None
    assert (found.opcode, found.psn, found.addresses) == (
        4, 0x654321, (envelope.src_ip, envelope.dst_ip, 0x123456)
    )  # fmt: skip


@pytest.mark.parametrize("is_ipv6", [False, True], ids=["IPv4", "IPv6"])
def test_the_icrc_counts_the_fields_that_routers_change_as_ones(is_ipv6: bool) -> None:
    """And no other bit."""
    masks, size = icrc_masks(is_ipv6=is_ipv6), (60 if is_ipv6 else 40) + 8
    version = 0x60 if is_ipv6 else 0x45
    packet = bytes((version,)) + bytes(size - 1)
    for bit in range(8, 8 * size):
        changed = bytearray(packet)
        changed[bit // 8] ^= 1 << bit % 8
        assert (icrc_of(changed) == icrc_of(packet)) is bool(masks.get(bit // 8, 0) >> bit % 8 & 1), bit
