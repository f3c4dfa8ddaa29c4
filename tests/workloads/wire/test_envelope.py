"""What is remembered of heads of frames never shows."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.support.rc_pair import ipv6, pair_configs
from workloads.machine import Buffer
from workloads.wire import Aeth, Bth, Envelope, Packet, WireError, encode_packet
from workloads.wire.envelope import _decode_envelope, decode_envelope

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
