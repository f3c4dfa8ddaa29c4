"""A datagram in place: what is sound is what the codec reads, and what is sealed is what it writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramError,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)
from workloads.wire.inspected import address_of, as_signed, is_sound, seal

ENVELOPE = Envelope(b"\x02aaaaa", b"\x02bbbbb", bytes((10, 0, 0, 1)), bytes((10, 0, 255, 1)), 50_000)
HEADERS = st.builds(
    lambda **fields: AggregationHeader(**fields),
    policy=st.sampled_from(Policy), kind=st.sampled_from(DatagramKind), job=st.integers(0, 65535),
    sequence=st.integers(0, 2**32 - 1), slot=st.integers(0, 65535), bitmap0=st.integers(0, 2**32 - 1),
    fan_in0=st.integers(1, 255), exponent0=st.integers(-128, 127), exponent1=st.integers(-128, 127),
)  # fmt: skip


def _is_read(frame: bytes) -> bool:
    try:
        return decode_datagram(frame) is not None
    except DatagramError:
        return False


@given(HEADERS, st.binary(max_size=400))
def test_what_is_encoded_is_sound_and_sealed_as_it_was(header: AggregationHeader, data: bytes) -> None:
    payload = data[: len(data) // 4 * 4]
    frame = encode_datagram(ENVELOPE, AGGREGATION_PORT, header._replace(nelem=len(payload) // 4), payload)
    assert is_sound(frame)
    assert address_of(frame, True).to_bytes(4, "big") == ENVELOPE.dst_ip
    assert address_of(frame, False).to_bytes(4, "big") == ENVELOPE.src_ip


@given(HEADERS, st.integers(0, 121), st.integers(0, 255), st.integers(0, 20))
def test_what_is_damaged_is_sound_only_where_it_is_read(
    header: AggregationHeader, at: int, byte: int, cut: int
) -> None:
    frame = bytearray(encode_datagram(ENVELOPE, AGGREGATION_PORT, header._replace(nelem=10), bytes(40)))
    frame[at] = byte
    for damaged in (bytes(frame), bytes(frame[: len(frame) - cut]), bytes(frame[: at + 1])):
        assert bool(is_sound(damaged)) == _is_read(damaged)


def test_bytes_with_a_sign() -> None:
    assert [as_signed(byte) for byte in (0, 127, 128, 255)] == [0, 127, -128, -1]


def test_a_frame_is_sealed_anew() -> None:
    header = AggregationHeader(Policy.SWITCHML, DatagramKind.DATA, 7, 1, 0, 1, 3, 2)
    frame = encode_datagram(ENVELOPE, AGGREGATION_PORT, header, b"\x00\x00\x00\x01\x00\x00\x00\x02")
    for bad in (16, 24, 38, 40):
        draft = bytearray(frame)
        draft[bad : bad + 2] = b"\xab\xcd"
        copy = bytes(draft)
        seal(copy, len(copy)) if type(seal).__name__ == "builtin_function_or_method" else seal(draft, len(draft))
        assert (copy if type(seal).__name__ == "builtin_function_or_method" else bytes(draft)) == frame
