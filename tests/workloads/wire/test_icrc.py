"""The iCRC on published vectors, its invariance, and the mutants that must lose."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.pcap import pcap_frames
from workloads.wire import (
    ICRC_BYTES,
    Bth,
    Envelope,
    Packet,
    Reth,
    decode_packet,
    encode_packet,
    icrc_is_valid,
    icrc_of,
    icrc_state,
)
from workloads.wire.icrc import icrc_holds

# (a) CNP of a ConnectX-4 Lx, from scapy's test suite test/contrib/roce.uts; (b) a captured READ request, from
# montybeatnik/rdma-roce-lab.
VECTORS = {
    "cnp": (
        "45c2003c718c400040119116 0a001101 0a001201 000012b700280000 8100ffff4000011800000000" + "00" * 16,
        "82fd002a",
    ),
    "read request": (
        (
            "4500003cdba5400040115bb1c0a84105c0a84104 df9412b700280000 0c00ffff00000011808c84de "
            "0000aaab09dd5000000002d500001000"
        ),
        "a0f6dbbd",
    ),
}
ETH = 14


@pytest.mark.parametrize("name", VECTORS)
def test_published_vectors(name: str) -> None:
    packet, icrc = VECTORS[name]
    assert icrc_of(bytes.fromhex(packet)).hex() == icrc


def test_the_state_continues_over_the_rest() -> None:
    octets = bytes.fromhex(VECTORS["read request"][0])
    for cut in range(33, len(octets)):
        state = zlib.crc32(octets[cut:], icrc_state(octets[:cut]))
        assert state.to_bytes(4, "little") == icrc_of(octets)


@pytest.fixture(scope="module")
def frames() -> list[bytes]:
    folder = Path(__file__).resolve().parents[2] / "data" / "rxe"
    return [frame for path in sorted(folder.glob("*.pcap")) for frame in pcap_frames(path)]


def _masked(octets: bytes, **change: bool | int) -> bytes:
    """The routine of annex A17 once more, with a switch for each mistake."""
    body = bytearray(octets)
    v4 = body[0] >> 4 == 4
    udp = 20 if v4 else 40
    ones = 0x00 if change.get("zeros") else 0xFF

    def mask(index: int, bits: int = 0xFF) -> None:
        body[index] = body[index] | bits if ones else body[index] & ~bits

    if not change.get("tos_kept"):
        mask(1, 0xFF if v4 else 0xF0)
        if not v4:
            mask(0, 0x0F)
    if not v4:
        mask(1, 0x0F)
        mask(2)
        mask(3)
    if not change.get("ttl_kept"):
        mask(8 if v4 else 7)
    if v4 and not change.get("header_checksum_kept"):
        mask(10)
        mask(11)
    if change.get("ident_masked"):
        mask(4)
        mask(5)
    if not change.get("udp_checksum_kept"):
        mask(udp + 6)
        mask(udp + 7)
    mask(udp + 12, int(change.get("bth4_bits", 0xFF)))
    if change.get("bth8_masked"):
        mask(udp + 16, 0x7F)
    if change.get("from_udp"):
        body = body[udp:]
    if change.get("pad_left_out"):
        pad = octets[udp + 9] >> 4 & 3
        body = body[: len(body) - pad]
    prefix = b"" if change.get("no_prefix") else b"\xff" * 8
    value = zlib.crc32(prefix + body)
    if change.get("no_inversion"):
        value ^= 0xFFFFFFFF
    return value.to_bytes(4, "big" if change.get("big_endian") else "little")


# How many of the 792 captured packets each mistake would call valid; 791 are (docs/roce.md, iCRC).
MUTANTS: dict[str, tuple[dict[str, bool | int], int]] = {
    "none": ({}, 791),
    "ToS kept": ({"tos_kept": True}, 0),
    "TTL kept": ({"ttl_kept": True}, 0),
    "UDP checksum kept": ({"udp_checksum_kept": True}, 0),
    "IPv4 header checksum kept": ({"header_checksum_kept": True}, 12),
    "BTH byte 4 masked 0x3f only": ({"bth4_bits": 0x3F}, 0),
    "BTH byte 4 masked 0xc0 only": ({"bth4_bits": 0xC0}, 0),
    "BTH byte 4 not masked": ({"bth4_bits": 0}, 0),
    "no prefix": ({"no_prefix": True}, 0),
    "big endian": ({"big_endian": True}, 0),
    "masked with zeros": ({"zeros": True}, 0),
    "starts at UDP": ({"from_udp": True}, 0),
    "final inversion missing": ({"no_inversion": True}, 0),
    "reserved bits of BTH byte 8 masked": ({"bth8_masked": True}, 0),
    "IPv4 ID masked": ({"ident_masked": True}, 0),
    "pad left out": ({"pad_left_out": True}, 742),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mistake_loses_as_many_packets_as_documented(name: str, frames: list[bytes]) -> None:
    change, valid = MUTANTS[name]
    assert sum(_masked(f[ETH:-4], **change) == f[-4:] for f in frames) == valid


def test_ours_is_the_routine_without_a_mistake(frames: list[bytes]) -> None:
    assert all(icrc_of(f[ETH:-4]) == _masked(f[ETH:-4]) for f in frames)


def _sealed(frame: bytes) -> bool:
    """Whether the iCRC fits, without a look at the IPv4 header checksum (it is outside)."""
    return icrc_of(frame[ETH:-ICRC_BYTES]) == frame[-ICRC_BYTES:]


def _v4(f: bytes) -> bool:
    return f[ETH] >> 4 == 4


INVARIANT: dict[str, Callable[[bytearray], None]] = {
    "CE": lambda f: f.__setitem__(ETH + 1, f[ETH + 1] | (0x03 if _v4(f) else 0x30)),
    "DSCP": lambda f: f.__setitem__(ETH + 1, f[ETH + 1] ^ (0xFC if _v4(f) else 0xC0)),
    "TTL - 1": lambda f: f.__setitem__(ETH + (8 if _v4(f) else 7), f[ETH + (8 if _v4(f) else 7)] - 1),
    "FECN": lambda f: f.__setitem__(ETH + (32 if _v4(f) else 52), 0x80),
    "BECN": lambda f: f.__setitem__(ETH + (32 if _v4(f) else 52), 0x40),
}


@pytest.mark.parametrize("name", INVARIANT)
def test_what_routers_change_leaves_the_icrc_valid(name: str, frames: list[bytes]) -> None:
    for frame in frames[::10]:
        changed = bytearray(frame)
        INVARIANT[name](changed)
        assert changed != frame
        assert _sealed(bytes(changed)) == _sealed(frame)


def test_any_other_bit_breaks_it(frames: list[bytes]) -> None:
    draw = random.Random(7)
    good = [f for f in frames if _sealed(f)]
    outside = {
        True: {1, 8, 10, 11, 26, 27, 32},  # IPv4: ToS, TTL, checksum; UDP checksum; BTH byte 4
        False: {1, 2, 3, 7, 46, 47, 52},
    }
    for _ in range(1000):
        frame = bytearray(draw.choice(good))
        at = draw.choice([i for i in range(len(frame) - ETH) if i not in outside[_v4(frame)]])
        if at == 0 and not _v4(frame):
            continue  # half of IPv6's byte 0 is the traffic class
        # bit 5 and below: the version nibble decides which header this is
        frame[ETH + at] ^= 1 << draw.randrange(4 if at == 0 else 8)
        try:
            assert not _sealed(bytes(frame)), f"byte {at}"
        except IndexError:
            assert at == 0  # an IPv4 header length beyond the frame


def test_icrc_is_valid_ignores_trailing_ethernet_padding(frames: list[bytes]) -> None:
    ack = next(f for f in frames if len(f) < 64)
    assert icrc_is_valid(ack + bytes(10))
    assert decode_packet(ack + bytes(10)) == decode_packet(ack)


@pytest.mark.parametrize("size", [0, 1, 12, 31, 32])
@pytest.mark.parametrize("first", [0x45, 0x60])
def test_a_beginning_that_lacks_what_is_left_out_is_refused(size: int, first: int) -> None:
    """Compiled code would write behind it."""
    with pytest.raises(IndexError):
        icrc_of(bytes([first] * size))


@pytest.mark.parametrize("cut", range(5))
def test_the_checksum_of_a_whole_frame_is_looked_up_in_it(cut: int) -> None:
    frame = encode_packet(
        Packet(Envelope(bytes(6), bytes(6), bytes(4), bytes(4)), Bth(0x0A, 1, 2), b"12345", reth=Reth(1, 2, 5))
    )
    end = len(frame)
    assert icrc_holds(frame + bytes(cut), end)
    assert all(not icrc_holds(flipped(frame, end - 1 - byte), end) for byte in range(4))
    assert not icrc_holds(flipped(frame, 60), end)
    assert icrc_holds(flipped(frame, 15), end), "ToS is left out"


def flipped(frame: bytes, at: int) -> bytes:
    changed = bytearray(frame)
    changed[at] ^= 1
    return bytes(changed)
