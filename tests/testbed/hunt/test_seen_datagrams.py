"""Datagrams as watches read them."""

from __future__ import annotations

import pytest

from testbed.hunt import seen_datagrams
from testbed.hunt.seen_datagrams import seen_datagram
from tests.support.aggregator_bench import contribution, job_config
from workloads.wire.aggregation import decode_datagram


def a_frame() -> bytes:
    return bytes(contribution(job_config(), 0, 0, [1, 2]))


def test_a_frame_is_decoded_once_however_many_watches_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, asked = a_frame(), list[bytes]()
    seen_datagram.cache_clear()
    monkeypatch.setattr(seen_datagrams, "decode_datagram", lambda frame: asked.append(frame) or decode_datagram(frame))
    assert seen_datagram(frame) == seen_datagram(bytes(bytearray(frame))) == decode_datagram(frame)
    assert asked == [frame]


def test_what_cannot_be_used_is_no_datagram() -> None:
    frame = bytearray(a_frame())
    frame[-1] ^= 1
    assert seen_datagram(bytes(frame)) is None
    assert seen_datagram(b"") is None
