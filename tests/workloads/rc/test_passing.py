"""What a switch reads of packets that pass it: the same as the codec, and never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.netreduce_harness import small_job
from workloads.rc import shape
from workloads.rc.changes import changed, data_bytes, data_flow, flipped, moved, renumbered
from workloads.rc.fields import packet_places
from workloads.rc.passing import Wholeness, read_passing
from workloads.wire import OPCODES, WireError, decode_packet, icrc_is_valid
from workloads.wire.trimming import trim

JOB = small_job()
FRAMES = [JOB.frame(1, 1, 0), JOB.frame(1, 1, 1), small_job(ipv6=True).frame(0, 1, 0)]
ANSWER = JOB.answer(0, 5, 1)


@pytest.mark.parametrize("frame", FRAMES, ids=["first", "middle", "IPv6"])
def test_data_is_read_as_the_codec_reads_it(frame: bytes) -> None:
    found, packet = read_passing(frame), decode_packet(frame)
    assert found is not None
    assert packet is not None
    assert found.is_data
    assert found.addresses == (packet.envelope.src_ip, packet.envelope.dst_ip)
    assert found.wholeness() is Wholeness.WHOLE
    data = found.data()
    assert data is not None
    assert (data.connection, data.psn, data.qpn) == (packet.connection, packet.bth.psn, packet.bth.dest_qpn)
    assert (bytes(data.payload), data.starts, data.ends) == (bytes(packet.payload), packet.starts, packet.info.ends)
    assert frame[data.payload_at :].startswith(bytes(packet.payload))
    assert data.target == (None if packet.reth is None else (packet.reth.va, packet.reth.length))


def test_damage_and_trimming_show() -> None:
    damaged, cut = bytearray(FRAMES[0]), trim(FRAMES[0])
    damaged[-10] ^= 1
    assert cut is not None
    for frame, expected in ((bytes(damaged), Wholeness.DAMAGED), (cut, Wholeness.TRIMMED)):
        found = read_passing(frame)
        assert found is not None
        assert found.wholeness() is expected


def test_an_answer_is_no_data() -> None:
    found = read_passing(ANSWER)
    assert found is not None
    assert not found.is_data
    assert data_bytes(ANSWER) == 0
    assert data_flow(ANSWER) is None


@given(st.binary(max_size=120))
def test_nothing_is_raised(frame: bytes) -> None:
    read_passing(frame)
    assert data_flow(frame) is None


@pytest.mark.parametrize("frame", FRAMES, ids=["first", "middle", "IPv6"])
def test_changed_packets_have_a_right_icrc(frame: bytes) -> None:
    before = decode_packet(frame)
    assert before is not None
    for made, psn, qpn in (
        (flipped(frame, 3), before.bth.psn, before.bth.dest_qpn),
        (renumbered(frame, 1), before.bth.psn + 1, before.bth.dest_qpn),
        (moved(frame, -2, 4), before.bth.psn - 2, before.bth.dest_qpn ^ 4),
    ):
        after = decode_packet(made)
        assert after is not None
        assert icrc_is_valid(made)
        assert ((after.bth.psn - psn) % (1 << 24), after.bth.dest_qpn) == (0, qpn)
    assert bytes(decode_packet(flipped(frame, 3)).payload)[3] == before.payload[3] ^ 1  # type: ignore[union-attr]


def test_what_cannot_be_changed_is_refused() -> None:
    with pytest.raises(WireError, match="no data with a byte 0"):
        flipped(ANSWER, 0)
    with pytest.raises(WireError, match="no data"):
        renumbered(ANSWER, 1)
    assert changed(b"no frame", None, 16) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("frame", [*FRAMES, ANSWER], ids=["first", "middle", "IPv6", "answer"])
def test_places_of_headers_follow_one_another(frame: bytes) -> None:
    at = 62 if frame[12] == 0x86 else 42
    places = packet_places(frame, 4791, at, len(frame))
    assert places is not None
    assert places.is_whole
    for layout, begin in places.headers:
        assert begin == at
        at += layout.size
    assert places.payload_at == at
    assert places.checksum_text == "valid"
    assert packet_places(frame, 4790, 42, len(frame)) is None


def test_shapes_of_data_are_those_of_the_opcodes() -> None:
    assert set(shape.DATA) == {code for code, info in OPCODES.items() if info.is_request and code < 0x20}
    assert {code for code, data in shape.DATA.items() if data.starts and data.ends} == {4, 5, 10, 11, 23}
