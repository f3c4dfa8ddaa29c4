"""The codec against every captured packet of the Linux rdma_rxe stack, and scapy's opinion on a sample of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from tests.support.pcap import pcap_frames
from tests.support.rxe_captures import capture_table
from workloads.wire import Opcode, decode_packet, encode_packet, icrc_is_valid, icrc_of

ALTERED = ("small_host_switch.out.pcap", 86)  # 1-based; README: payload altered on purpose, iCRC not repaired
WIRE_ICRC, RIGHT_ICRC = bytes.fromhex("2cb776f9"), bytes.fromhex("e9c548e8")


def readme_name(opcode: int) -> str:
    name = Opcode(opcode).name
    if name == "ACKNOWLEDGE":
        return "ACK"
    name = name.replace("READ_REQUEST", "READ_REQ")
    return name if name.startswith(("UC_", "UD_")) else "RC_" + name


def test_the_captures_are_those_of_the_checksums(rxe_captures: Path) -> None:
    for line in (rxe_captures / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((rxe_captures / name).read_bytes()).hexdigest() == digest


def test_counts_opcodes_and_syndromes_equal_the_readme(rxe_captures: Path) -> None:
    rows = list(capture_table(rxe_captures))
    assert len(rows) == len(list(rxe_captures.glob("*.pcap"))) == 23
    for row in rows:
        frames = pcap_frames(rxe_captures / row.name)
        opcodes: Counter[str] = Counter()
        syndromes: Counter[int] = Counter()
        for frame in frames:
            packet = decode_packet(frame)
            assert packet is not None
            opcodes[readme_name(packet.bth.opcode)] += 1
            if packet.bth.opcode == Opcode.ACKNOWLEDGE:
                assert packet.aeth is not None
                syndromes[packet.aeth.syndrome] += 1
        assert (len(frames), dict(opcodes), dict(syndromes)) == (row.packets, row.opcodes, row.syndromes), row.name


def test_every_packet_is_encoded_to_the_same_bytes_again(rxe_captures: Path) -> None:
    count = 0
    for path in sorted(rxe_captures.glob("*.pcap")):
        for number, frame in enumerate(pcap_frames(path), 1):
            packet = decode_packet(frame)
            assert packet is not None
            again = encode_packet(packet)
            if (path.name, number) == ALTERED:
                assert again[:-4] == frame[:-4]
                assert (frame[-4:], again[-4:]) == (WIRE_ICRC, RIGHT_ICRC)
            else:
                assert again == frame, f"{path.name} packet {number}"
            count += 1
    assert count == 792


def test_791_of_792_icrcs_are_valid(rxe_captures: Path) -> None:
    wrong = [
        (path.name, number)
        for path in sorted(rxe_captures.glob("*.pcap"))
        for number, frame in enumerate(pcap_frames(path), 1)
        if not icrc_is_valid(frame)
    ]
    assert wrong == [ALTERED]


@pytest.mark.filterwarnings("ignore")
def test_scapy_agrees_on_icrc_and_bth(rxe_captures: Path) -> None:
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether

    sample = [
        frame
        for path in sorted(rxe_captures.glob("*.pcap"))
        for frame in pcap_frames(path)[:: max(1, len(pcap_frames(path)) // 3)]
    ]
    assert len(sample) >= 60
    for frame in sample:
        packet = decode_packet(frame)
        assert packet is not None
        opinion = Ether(frame)[BTH]
        bth = packet.bth
        assert (opinion.opcode, opinion.psn, opinion.dqpn) == (bth.opcode, bth.psn, bth.dest_qpn)
        assert (opinion.ackreq, opinion.padcount, opinion.pkey) == (bth.ack_req, bth.pad, bth.pkey)
        opinion = Ether(frame)
        bth_layer = opinion[BTH]
        covered = bytes(bth_layer)[:-4]
        assert bth_layer.compute_icrc(covered) == icrc_of(frame[14:-4])
