"""What is remembered of heads of frames never shows."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.rc_pair import ipv6, pair_configs
from workloads.machine import Buffer
from workloads.wire import Aeth, Bth, Envelope, Packet, WireError, encode_packet
from workloads.wire.envelope import _decode_envelope, _encode_envelope, decode_envelope, encode_envelope
from workloads.wire.headers import Header

V4 = pair_configs()[0].envelope
V6 = ipv6(pair_configs()[0]).envelope


def outcome(decode: object, frame: Buffer) -> object:
    try:
        return decode(frame)  # type: ignore[operator]
    except WireError as error:
        return str(error)


@pytest.mark.parametrize("envelope", [V4, V6])
def test_heads_that_were_seen_before_are_decoded_alike(envelope: Envelope) -> None:
    draw = random.Random(3)
    whole = encode_packet(Packet(replace(envelope, tos=2), Bth(0x11, 1, 2), aeth=Aeth(0x1F, 0)))
    frames: list[bytes] = []
    for _ in range(1500):
        frame = bytearray(whole[: draw.choice([len(whole), draw.randrange(len(whole) + 1)])])
        if frame and draw.random() < 0.5:
            frame[draw.randrange(len(frame))] ^= 1 << draw.randrange(8)
        frames.append(bytes(frame))
    results = [outcome(decode_envelope, frame) for frame in frames * 2]
    assert results == [outcome(_decode_envelope, frame) for frame in frames * 2]
    assert len({type(result) for result in results}) == 3


ENVELOPE_BITS = {"sport": 16, "tos": 8, "ttl": 8, "ident": 16, "flags_fragment": 16, "udp_checksum": 16}


def told(encode: Callable[[], bytes]) -> object:
    try:
        return encode()
    except WireError as error:
        return str(error)


def test_the_quick_ways_to_encode_equal_those_by_layout() -> None:
    draw = random.Random(4)
    results: list[object] = []
    for _ in range(600):
        slack = draw.choice([0, 0, 1])  # values that do not fit, too
        values = {name: draw.randrange(-slack, (1 << bits) + slack) for name, bits in ENVELOPE_BITS.items()}
        envelope, size = replace(draw.choice([V4, V6]), **values), draw.choice([16, 1044, 65_500, 65_600])
        results.append(told(lambda envelope=envelope, size=size: encode_envelope(envelope, size)))
        assert results[-1] == told(lambda envelope=envelope, size=size: _encode_envelope(envelope, size))
        fields = {f.name: draw.randrange(-slack, (1 << f.bits) + slack) for f in Bth.LAYOUT.fields}
        bth = Bth(**fields)
        results.append(told(bth.encode))
        assert results[-1] == told(lambda bth=bth: Header.encode(bth))
    assert {type(result) for result in results} == {bytes, str}
