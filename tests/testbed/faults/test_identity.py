"""Who a frame is; the wire codec is the second opinion."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.faults.decide import frame_key
from testbed.faults.identity import NOT_ROCE, IdentityReader, datagram_text, flow_text
from tests.support.roce_frames import H1, H2, answer, arp, envelope, request
from workloads.wire import WireError, decode_packet
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramFlag,
    DatagramKind,
    Policy,
    encode_datagram,
)


def test_a_request() -> None:
    who = IdentityReader().read(request(0x123456))
    assert (who.opcode, who.psn, who.syndrome, who.addresses) == (1, 0x123456, 0, (H1, H2, 0x201))
    assert flow_text(who.addresses) == "10.77.0.2>10.77.0.3:513"


def test_an_answer_has_its_syndrome() -> None:
    reader = IdentityReader()
    ack, nak = reader.read(answer(5)), reader.read(answer(5, syndrome=0x60))
    assert (ack.syndrome, nak.syndrome) == (0x1F, 0x60)
    assert ack.key != nak.key
    assert ack.key == reader.read(answer(5, msn=9)).key


def test_ipv6() -> None:
    who = IdentityReader().read(request(9, ipv6=True))
    assert who.psn == 9
    assert flow_text(who.addresses) == "::a4d:2>::a4d:3:513"


def test_payload_ttl_and_tos_are_not_part_of_it() -> None:
    reader, frame = IdentityReader(), bytearray(request(9))
    key = reader.read(frame).key
    frame[15], frame[22], frame[60] = 3, 9, 0
    assert reader.read(frame).key == key


@pytest.mark.parametrize(
    ("at", "value"),
    [(12, 0x86), (14, 0x46), (20, 0x20), (21, 1), (23, 6), (36, 0), (17, 1), (39, 1)],
    ids=["ethertype", "options", "more fragments", "offset", "protocol", "port", "ip length", "udp length"],
)
def test_what_is_not_roce_has_the_crc_of_its_bytes(at: int, value: int) -> None:
    frame = bytearray(request(9))
    frame[at] = value
    who = IdentityReader().read(frame)
    assert (who.opcode, who.addresses) == (NOT_ROCE, None)
    assert who.flow == frame_key(zlib.crc32(frame), len(frame))
    assert flow_text(who.addresses) == ""


def test_two_other_frames_differ() -> None:
    assert IdentityReader().read(arp(1)).key != IdentityReader().read(arp(2)).key


@given(st.integers(0, 200), st.booleans())
def test_no_length_raises(size: int, ipv6: bool) -> None:
    frame = request(9, ipv6=ipv6)
    who = IdentityReader().read(frame[:size])
    assert (who.opcode == NOT_ROCE) == (size < len(frame))


def test_every_captured_frame_reads_as_the_codec_reads_it(rxe_captures: Path) -> None:
    reader, roce = IdentityReader(), 0
    for path in sorted(rxe_captures.glob("*.pcap")):
        for frame in frames_of(path.read_bytes()):
            try:
                packet = decode_packet(frame)
            except WireError:
                continue
            who = reader.read(frame)
            if packet is None:
                assert who.opcode == NOT_ROCE
                continue
            roce += 1
            assert (who.opcode, who.psn, who.addresses) == (packet.bth.opcode, packet.bth.psn, packet.connection)
            assert who.syndrome == (packet.aeth.syndrome if packet.aeth and packet.bth.opcode == 0x11 else 0)
    assert roce > 700


def frames_of(pcap: bytes) -> list[bytes]:
    order = "little" if pcap[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else "big"
    frames, at = [], 24
    while at < len(pcap):
        size = int.from_bytes(pcap[at + 8 : at + 12], order)  # type: ignore[arg-type]
        frames.append(pcap[at + 16 : at + 16 + size])
        at += 16 + size
    return frames


def test_a_datagram_is_named_by_what_it_is_and_the_identity_that_decides_its_fate() -> None:
    def text(kind: DatagramKind, flags: int = 0) -> tuple[str, str]:
        header = AggregationHeader(Policy.ATP, kind, 3, 17, 0, 1, 4, nelem=4, flags=flags)
        frame = encode_datagram(envelope(1, 2), AGGREGATION_PORT, header, bytes(16))
        identity = IdentityReader().read(frame)
        return datagram_text(frame, identity.transport, identity.key), f"#{identity.key:016x}"

    named, key = text(DatagramKind.DATA)
    assert named == f"data 10.77.0.2>10.77.0.3 job 3 packet 17 {key}"
    named, key = text(DatagramKind.DATA, DatagramFlag.RESEND)
    assert named == f"data again 10.77.0.2>10.77.0.3 job 3 packet 17 {key}"
    assert text(DatagramKind.REMINDER)[0].startswith("reminder 10.77.0.2>")


def test_what_is_no_datagram_of_aggregation_has_no_such_name() -> None:
    for frame in (request(5), arp()):
        found = IdentityReader().read(frame)
        assert datagram_text(frame, found.transport, found.key) == ""
