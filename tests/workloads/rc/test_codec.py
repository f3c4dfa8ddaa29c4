"""The reader and the writer of the RC endpoint against the codec of `workloads.wire`, which is the reference."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.pcap import pcap_frames
from workloads.machine import Buffer
from workloads.rc.inbound import RoceFrameReader, inbound_icrc_is_valid
from workloads.rc.outbound import FrameWriter
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
    Packet,
    Reth,
    Sack,
    WireError,
    decode_packet,
    encode_packet,
    icrc_is_valid,
)
from workloads.wire import envelope as envelope_module
from workloads.wire.packet import EXTENSIONS as ORDER

V4 = Envelope(bytes(5) + b"\1", bytes(5) + b"\2", bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), sport=0xD234, tos=2)
V6 = replace(V4, src_ip=bytes(15) + b"\1", dst_ip=bytes(15) + b"\2", flow_label=0x12345)
EXTENSIONS = {
    "deth": Deth(1, 2), "reth": Reth(3, 4, 5), "atomic": AtomicEth(6, 7, 8, 9), "aeth": Aeth(0x60, 7),
    "atomic_ack": AtomicAckEth(8), "imm": ImmDt(0xDEADBEEF), "ieth": Ieth(5),
    "sack": Sack(0x11223344, 0x55667788),
}  # fmt: skip

packets = st.builds(
    lambda opcode, envelope, psn, ack, payload: Packet(
        envelope,
        Bth(opcode, 0x123456, psn, ack_req=int(ack)),
        payload,
        **{name: EXTENSIONS[name] for name in OPCODES[opcode].extensions},  # type: ignore[arg-type]
    ),
    st.sampled_from(sorted(OPCODES)),
    st.sampled_from([V4, V6]),
    st.integers(0, 0xFFFFFF),
    st.booleans(),
    st.binary(max_size=40),
)


def same_as_decode(reader: RoceFrameReader, frame: Buffer) -> None:
    try:
        expected = decode_packet(frame)
    except WireError as error:
        with pytest.raises(WireError, match=f"^{re.escape(str(error))}$"):
            reader.read(frame)
        return
    got = reader.read(frame)
    if expected is None:
        assert got is None
        return
    assert got is not None
    bth = expected.bth
    assert (got.envelope, got.opcode, got.dest_qpn, got.psn) == (expected.envelope, bth.opcode, bth.dest_qpn, bth.psn)
    assert (got.ack_req, bytes(got.payload)) == (bool(bth.ack_req), bytes(expected.payload))
    assert (got.reth, got.syndrome) == (expected.reth, expected.aeth.syndrome if expected.aeth else None)
    assert got.sack == ((expected.sack.cumulative, expected.sack.selective) if expected.sack else None)
    assert got.imm == (expected.imm.value if expected.imm else None)
    assert inbound_icrc_is_valid(got) == icrc_is_valid(frame)


@settings(max_examples=300, deadline=None)
@given(packets, st.data())
def test_the_reader_equals_decode_packet_on_good_and_mangled_frames(packet: Packet, data: st.DataObject) -> None:
    reader = RoceFrameReader()
    frame = bytearray(encode_packet(packet))
    same_as_decode(reader, frame)  # and fills its memory
    same_as_decode(reader, frame + bytes(data.draw(st.integers(0, 9))))
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    same_as_decode(reader, frame)
    del frame[data.draw(st.integers(0, len(frame))) :]
    same_as_decode(reader, frame)


def test_the_reader_equals_decode_packet_on_captures(rxe_captures: Path) -> None:
    reader = RoceFrameReader()
    for path in sorted(rxe_captures.glob("*.pcap")):
        for frame in pcap_frames(path):
            same_as_decode(reader, frame)


def test_every_truncation_after_the_whole_frame_was_seen() -> None:
    reader = RoceFrameReader()
    for envelope in (V4, V6):
        frame = encode_packet(Packet(envelope, Bth(0x0A, 1, 2), b"12345", reth=Reth(1, 2, 5)))
        for size in range(len(frame), -1, -1):
            same_as_decode(reader, frame[:size])


@settings(max_examples=300, deadline=None)
@given(st.lists(packets, min_size=1, max_size=5))
def test_the_writer_equals_encode_packet(several: list[Packet]) -> None:
    writers = {envelope: FrameWriter(envelope, 0x123456) for envelope in (V4, V6)}
    for packet in several:
        extensions = b"".join(getattr(packet, name).encode() for name in ORDER if name in packet.info.extensions)
        bth = packet.bth
        frame = writers[packet.envelope].write(bth.opcode, bth.psn, bool(bth.ack_req), extensions, packet.payload)
        assert frame == encode_packet(packet)


def test_memories_are_bounded() -> None:
    reader, writer = RoceFrameReader(), FrameWriter(V4, 1)
    for size in range(4200):
        frame = writer.write(0x04, 0, False, b"", bytes(size))
        reader.read(encode_packet(Packet(replace(V4, ident=size), Bth(0x04, 1, 1))))
        assert len(frame) == 14 + 20 + 8 + 12 + (size + 3) // 4 * 4 + 4
    assert 0 < len(envelope_module._heads) <= 4096
    assert len(writer._heads) <= 4096
