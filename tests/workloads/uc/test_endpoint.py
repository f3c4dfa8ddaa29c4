"""Frames in, messages out: against a capture of a real stack, and against ourselves over a wire that harms."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.pcap import pcap_frames
from tests.support.uc_ends import dropped, received, sent
from workloads.config import QpConfig
from workloads.uc import UcEndpoint, UcPairs, UcWrite, service_qpn
from workloads.uc.transport import UNRELIABLE
from workloads.wire import (
    Bth,
    Envelope,
    Opcode,
    Packet,
    Reth,
    decode_packet,
    encode_packet,
    icrc_is_valid,
    opcode_name,
    psn_diff,
)

HERE, THERE = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
OUT = Envelope(b"\x02aaaaa", b"\x02bbbbb", HERE, THERE, 50_000, tos=2)
BACK = Envelope(b"\x02bbbbb", b"\x02aaaaa", THERE, HERE, 50_001, tos=2)
WRITE = UcWrite(0x7000, 0x55, 0x1234_5678, bytes(range(256)) * 9)


@pytest.fixture
def pair() -> tuple[UcEndpoint, UcEndpoint]:
    one = UNRELIABLE.endpoint([QpConfig(0x11, 0x22, OUT, 0xFFFFFE, 7)], longest=4096)
    return one, UNRELIABLE.endpoint([QpConfig(0x22, 0x11, BACK, 7, 0xFFFFFE)], longest=4096)


@pytest.fixture
def capture(rxe_captures: Path) -> list[Packet]:
    found = [decode_packet(frame) for frame in pcap_frames(rxe_captures / "uc.A.pcap")]
    assert all(packet is not None for packet in found)
    return [packet for packet in found if packet is not None]


def test_the_codec_reads_and_writes_what_a_real_stack_sends(capture: list[Packet], rxe_captures: Path) -> None:
    assert [opcode_name(packet.bth.opcode) for packet in capture] == [
        "UC_SEND_FIRST", "UC_SEND_MIDDLE", "UC_SEND_LAST",
    ] * 2  # fmt: skip
    assert [len(packet.payload) for packet in capture] == [1024, 1024, 952] * 2
    assert [psn_diff(b.bth.psn, a.bth.psn) for a, b in pairwise(capture)] == [1] * 5
    frames = pcap_frames(rxe_captures / "uc.A.pcap")
    assert all(map(icrc_is_valid, frames))
    assert [encode_packet(packet) for packet in capture] == frames


def test_a_real_stacks_packets_are_messages(capture: list[Packet]) -> None:
    """Made WRITEs: position, PSN (which wraps), sizes and addresses are the stack's."""
    names = {Opcode.UC_SEND_FIRST: Opcode.UC_WRITE_FIRST, Opcode.UC_SEND_MIDDLE: Opcode.UC_WRITE_MIDDLE}
    there = capture[0].envelope
    back = replace(there, src_ip=there.dst_ip, dst_ip=there.src_ip)
    endpoint = UNRELIABLE.endpoint([QpConfig(capture[0].bth.dest_qpn, 1, back, 0, 0)], longest=4096)
    found = []
    for packet in capture:
        opcode = names.get(Opcode(packet.bth.opcode), Opcode.UC_WRITE_LAST)
        reth = Reth(64, 9, 3000) if opcode == Opcode.UC_WRITE_FIRST else None
        frame = encode_packet(replace(packet, bth=replace(packet.bth, opcode=opcode), reth=reth))
        found.append(received(endpoint, frame))
    assert [message is not None for message in found] == [False, False, True] * 2
    for message, first in zip(found[2::3], (0, 3), strict=True):
        assert message is not None
        assert message.src_ip == there.src_ip
        assert message.write == UcWrite(64, 9, None, b"".join(bytes(p.payload) for p in capture[first : first + 3]))


def test_our_messages_are_cut_as_a_real_stack_cuts(capture: list[Packet], pair: tuple[UcEndpoint, UcEndpoint]) -> None:
    ours = [decode_packet(frame) for frame in sent(pair[0], 0x11, UcWrite(0, 0, None, bytes(3000)))]
    assert [(len(packet.payload), packet.bth.pad) for packet in ours if packet] == [
        (len(packet.payload), packet.bth.pad) for packet in capture[:3]
    ]


def test_a_message_goes_over(pair: tuple[UcEndpoint, UcEndpoint]) -> None:
    one, other = pair
    frames = sent(one, 0x11, WRITE)
    packets = [packet for frame in frames if (packet := decode_packet(frame))]
    assert [packet.bth.psn for packet in packets] == [0xFFFFFE, 0xFFFFFF, 0]
    assert [packet.bth.opcode for packet in packets] == [
        Opcode.UC_WRITE_FIRST, Opcode.UC_WRITE_MIDDLE, Opcode.UC_WRITE_LAST_IMM,
    ]  # fmt: skip
    assert packets[0].reth == Reth(0x7000, 0x55, 9 * 256)
    assert all(map(icrc_is_valid, frames))
    assert [received(one, frame) for frame in frames] == [None] * 3
    *rest, message = (received(other, frame) for frame in frames)
    assert rest == [None, None]
    assert message is not None
    assert (message.qpn, message.src_ip, message.write) == (0x22, HERE, WRITE)


@pytest.mark.parametrize("size", [0, 1, 3, 1023, 1024, 1025, 2048, 4096])
@pytest.mark.parametrize("imm", [None, 0, 0xFFFFFFFF])
def test_every_size(pair: tuple[UcEndpoint, UcEndpoint], size: int, imm: int | None) -> None:
    write = UcWrite(1, 2, imm, bytes(i % 251 for i in range(size)))
    frames = sent(pair[0], 0x11, write)
    assert len(frames) == max(1, -(-size // 1024))
    assert [m.write for frame in frames if (m := received(pair[1], frame))] == [write]


def test_what_is_not_for_us(pair: tuple[UcEndpoint, UcEndpoint]) -> None:
    (frame,) = sent(pair[0], 0x11, UcWrite(0, 0, None, b""))
    other_port, vlan, tcp = bytearray(frame), bytearray(frame), bytearray(frame)
    other_port[37] ^= 1
    vlan[12:14] = b"\x81\x00"
    tcp[23] = 6
    assert [dropped(pair[1], bytes(bad)) for bad in (other_port, vlan, tcp, frame[:37])] == [None] * 4
    assert not pair[1].has_news


def test_a_queue_pair_of_that_number_at_another_address_gets_nothing(pair: tuple[UcEndpoint, UcEndpoint]) -> None:
    elsewhere = UNRELIABLE.endpoint([QpConfig(0x22, 0x11, replace(BACK, src_ip=bytes((10, 0, 0, 3))), 7, 0xFFFFFE)])
    for frame in sent(pair[0], 0x11, WRITE):
        elsewhere.receive_frame(0, frame, 0)
    assert not elsewhere.has_news


def test_every_damage_is_a_drop(pair: tuple[UcEndpoint, UcEndpoint]) -> None:
    (frame,) = sent(pair[0], 0x11, UcWrite(0x7000, 0x55, 5, b"abcdefg"))
    unseen = {14 + 1, 14 + 8, 14 + 10, 14 + 11, 40, 41, 46}  # what the iCRC leaves out: ToS, TTL, checksums, BTH byte 4
    for at in range(14, len(frame)):
        damaged = bytearray(frame)
        damaged[at] ^= 0x08
        if at in unseen or UNRELIABLE.target_of(bytes(damaged)) != THERE:
            continue
        assert dropped(pair[1], bytes(damaged)) is not None
    for size in range(38, len(frame)):
        why = dropped(pair[1], frame[:size])
        assert why is not None
        assert why.reason == "malformed"


def reason(endpoint: UcEndpoint, packet: Packet) -> str:
    why = dropped(endpoint, encode_packet(packet))
    assert why is not None
    return f"{why.reason}: {why.detail}"


def test_strangers_are_named(pair: tuple[UcEndpoint, UcEndpoint]) -> None:
    other = pair[1]
    good = Packet(OUT, Bth(Opcode.UC_WRITE_ONLY, 0x22, 9), reth=Reth(0, 0, 0))
    assert received(other, encode_packet(good)) is not None
    assert reason(other, replace(good, bth=Bth(Opcode.UC_WRITE_ONLY, 0x23, 9))).startswith(
        "unknown_qp: no queue pair 0x23"
    )
    stranger = replace(OUT, src_ip=bytes((10, 0, 0, 9)))
    assert reason(other, replace(good, envelope=stranger)) == "unknown_qp: no queue pair 0x22 with 0a000009"
    reliable = replace(good, bth=Bth(Opcode.WRITE_ONLY, 0x22, 9))
    assert reason(other, reliable) == "malformed: opcode 0x0a on an unreliable connection"
    assert reason(other, Packet(OUT, Bth(Opcode.UC_WRITE_MIDDLE, 0x22, 44), bytes(1024))).startswith(
        "gap: UC_WRITE_MIDDLE, PSN 0x00002c: expected PSN"
    )
    with pytest.raises(ValueError, match="QP 0x22 exists already"):
        other.add_qps([QpConfig(0x22, 1, BACK, 0, 0)])


def test_the_queue_pairs_of_a_worker_and_its_switch_face_each_other() -> None:
    pairs = UcPairs(0x300, service_qpn(3, 10), 5, 0, 2, 1024)
    mine, theirs = pairs.host_qp(4, OUT), pairs.service_qp(4, BACK)
    assert (mine.qpn, mine.peer_qpn) == (theirs.peer_qpn, theirs.qpn) == (0x304, 0x40_0000 | 3 << 16 | 14)
    assert mine.first_psn == theirs.first_psn == 5
    numbers = {service_qpn(rank, slot) for rank in range(32) for slot in range(0, 1 << 16, 4096)}
    assert len(numbers) == 32 * 16
    assert all(1 < number < 1 << 24 for number in numbers)
