"""Aggregation datagrams: what is written is read, by the layout; what is damaged is known."""

from __future__ import annotations

import contextlib
import random
import struct

import pytest

from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION,
    AGGREGATION_OVERHEAD_BYTES,
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramError,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
    payload_sum,
)

ENVELOPE = Envelope(b"\x02aaaaa", b"\x02bbbbb", bytes((10, 77, 0, 2)), bytes((10, 77, 255, 1)), 50_000, tos=2)
HEADER = AggregationHeader(
    policy=3, kind=4, job=0x1234, sequence=0xDEADBEEF, slot=0x4321, bitmap0=0x80000001, fan_in0=32, nelem=3, flags=0x42,
    exponent0=-126, exponent1=127, tensor=9, op=1, node=0xFFFF, new_slot=7, bitmap1=5, fan_in1=2, priority=200,
    server=0x0A4D0005,
)  # fmt: skip
PAYLOAD = struct.pack(">3i", -1, 2**31 - 1, 7)
FRAME = encode_datagram(ENVELOPE, AGGREGATION_PORT, HEADER, PAYLOAD)


def ones_complement_sum(data: bytes) -> int:
    """RFC 1071, word by word."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_the_header_is_where_the_layout_says():
    values = AGGREGATION.unpack(FRAME, 42)
    assert AGGREGATION.size == 40 == AGGREGATION_OVERHEAD_BYTES - 42
    assert values.pop("version") == 1
    assert values.pop("exponent0") == -126 & 0xFF
    assert values == {key: value for key, value in HEADER._asdict().items() if key != "exponent0"}


def test_what_is_written_is_read():
    found = decode_datagram(memoryview(FRAME + b"padding"))
    assert found is not None
    assert found.header == HEADER
    assert bytes(found.payload) == PAYLOAD
    assert (found.src_mac, found.src_ip, found.dst_ip, found.sport) == (
        ENVELOPE.src_mac,
        ENVELOPE.src_ip,
        ENVELOPE.dst_ip,
        50_000,
    )


def test_both_checksums_are_those_of_the_rfcs():
    pseudo = FRAME[26:34] + struct.pack("!HH", 17, len(FRAME) - 34)
    assert ones_complement_sum(FRAME[14:34]) == 0xFFFF
    assert ones_complement_sum(pseudo + FRAME[34:]) == 0xFFFF
    assert encode_datagram(ENVELOPE, AGGREGATION_PORT, HEADER, PAYLOAD, payload_sum(PAYLOAD)) == FRAME


def test_no_flipped_bit_behind_the_macs_passes():
    for bit in range(8 * 14, 8 * len(FRAME)):
        damaged = bytearray(FRAME)
        damaged[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(DatagramError):
            assert decode_datagram(damaged) is None, f"bit {bit}: taken for a good one"


@pytest.mark.parametrize("cut", [42, 60, 81, 90])
def test_what_is_cut_short_is_refused(cut):
    with pytest.raises(DatagramError) as caught:
        decode_datagram(FRAME[:cut])
    assert caught.value.reason == "malformed"


def test_other_frames_are_not_ours():
    other_port = encode_datagram(ENVELOPE, 4791, HEADER, PAYLOAD)
    assert decode_datagram(other_port) is None
    assert decode_datagram(FRAME[:41]) is None
    assert decode_datagram(FRAME[:12] + b"\x86\xdd" + FRAME[14:]) is None


@pytest.mark.parametrize(
    ("changes", "payload"),
    [
        ({"nelem": 2}, PAYLOAD),
        ({"nelem": 257}, bytes(1028)),
        ({"exponent0": 128}, PAYLOAD),
        ({"job": 1 << 16}, PAYLOAD),
    ],
)
def test_what_does_not_fit_is_not_written(changes, payload):
    with pytest.raises(DatagramError):
        encode_datagram(ENVELOPE, AGGREGATION_PORT, HEADER._replace(**changes), payload)


@pytest.mark.parametrize("changes", [{"policy": 0}, {"policy": 8}, {"kind": 8}, {"fan_in0": 0}])
def test_unknown_words_are_refused(changes):
    frame = encode_datagram(ENVELOPE, AGGREGATION_PORT, HEADER._replace(**changes), PAYLOAD)
    with pytest.raises(DatagramError, match="version and policy"):
        decode_datagram(frame)


@pytest.mark.parametrize("size", [0, 2, 510, 512, 514, 1024, 8192])
def test_the_sum_of_a_payload_is_that_of_its_words_however_long(size):
    for payload in (bytes(size), b"\xff" * size, random.Random(size).randbytes(size)):
        words = struct.unpack(f">{size // 2}H", payload)
        assert payload_sum(payload) == sum(words) % 0xFFFF


def test_packets_of_grid_may_be_longer():
    for policy, most in ((Policy.GRID, 2048), (Policy.ATP, 256)):
        header = AggregationHeader(policy, DatagramKind.DATA, 1, 1, 0, 1, 1, most)
        frame = encode_datagram(
            Envelope(bytes(6), bytes(6), bytes(4), bytes(4)), AGGREGATION_PORT, header, bytes(4 * most)
        )
        assert decode_datagram(frame).header.nelem == most
        with pytest.raises(DatagramError, match="elements"):
            encode_datagram(
                Envelope(bytes(6), bytes(6), bytes(4), bytes(4)),
                AGGREGATION_PORT,
                header._replace(nelem=most + 1),
                bytes(4 * most + 4),
            )
