"""What a NetReduce switch passes on as it came."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from switch_nodes.config import RingMember
from switch_nodes.events import PacketIgnored
from switch_nodes.netreduce import NetReduceProgram
from tests.support.netreduce_harness import Bench, Job
from workloads.wire import Bth, Deth, ImmDt, Opcode, Packet, Reth, encode_packet


@pytest.mark.parametrize(
    "changes", [{"ring_id": 8}, {"rank": 1}, {"size": 4}, {"agg": False}], ids=lambda changes: next(iter(changes))
)
def test_header_of_something_else_passes_by(changes: dict[str, int]) -> None:
    """Not an installed ring's edge, or "do not aggregate": not ours, and the packets behind it neither."""
    job = Job()
    bench = Bench(job)
    frames = [job.frame(0, 1, 0, header=job.header(0, 1, **changes)), job.frame(0, 1, 1), job.frame(0, 1, 3)]
    for frame in frames:
        assert bench.feed(frame, job.port(0)) == [(job.port(1), frame)]
    assert bench.counters()["bypassed"] == 3
    assert bench.everyone(0, 0) == bench.all_of(0, 0)  # an INA header makes it the ring's


def test_header_with_another_magic_or_version_passes_by() -> None:
    job = Job()
    for index in (0, 1):
        bench = Bench(job)
        header = bytearray(job.header(0, 1))
        header[index] ^= 2
        frame = job.frame(0, 1, 0, header=bytes(header))
        assert bench.feed(frame, job.port(0)) == [(job.port(1), frame)]


def test_first_without_header_inside_a_known_message() -> None:
    job = Job()
    bench = Bench(job)
    bench.run_through(2)
    assert bench.data(0, 1, 0, header=bytes(16)) == []
    assert bench.reasons() == ["inconsistent_first"]


def _foreign(job: Job) -> dict[str, bytes]:
    envelope = job.packet(0, 1, 0).envelope
    qpn, reth = 0x555, Reth(0, 1, 300)
    tcp = bytearray(encode_packet(job.packet(0, 1, 0)))
    tcp[14 + 9] = 6
    port_80 = bytearray(encode_packet(job.packet(0, 1, 0)))
    port_80[14 + 20 + 2 : 14 + 20 + 4] = (80).to_bytes(2, "big")
    ud = Packet(envelope, Bth(Opcode.UD_SEND_ONLY, qpn, 1), job.header(0, 1), deth=Deth(1, 2))
    return {
        "tcp": bytes(tcp),
        "udp": bytes(port_80),
        "arp": b"\xff" * 6 + envelope.src_mac + b"\x08\x06" + bytes(46),
        "read": encode_packet(Packet(envelope, Bth(Opcode.READ_REQUEST, job.qpn(0), 5), reth=reth)),
        "ud": encode_packet(ud),
        "uc": encode_packet(Packet(envelope, Bth(Opcode.UC_SEND_ONLY, job.qpn(0), 5), job.header(0, 1))),
        "only": encode_packet(Packet(envelope, Bth(Opcode.SEND_ONLY, qpn, 5), b"hello")),
        "first": encode_packet(Packet(envelope, Bth(Opcode.WRITE_FIRST, qpn, 6), bytes(256), reth=reth)),
        "middle": encode_packet(Packet(envelope, Bth(Opcode.WRITE_MIDDLE, qpn, 7), bytes(256))),
        "last": encode_packet(Packet(envelope, Bth(Opcode.WRITE_LAST_IMM, qpn, 8), b"xyz", imm=ImmDt(3))),
    }


def test_other_traffic_between_the_same_hosts_passes() -> None:
    job = Job()
    bench = Bench(job)
    bench.run_through(2)
    for name, frame in _foreign(job).items():
        out = bench.feed(frame, job.port(0))
        if name == "arp":
            assert sorted(port for port, _ in out) == [job.port(1), job.port(2)]
        else:
            assert out == [(job.port(1), frame)], name
    assert bench.reasons() == []
    assert bench.everyone(2, 0) == bench.all_of(2, 0)


def test_data_between_hosts_that_are_no_edge_passes() -> None:
    """From rank 1 back to rank 0: no connection of the ring of three."""
    job = Job()
    bench = Bench(job)
    there = job.packet(0, 1, 0)
    envelope = replace(
        there.envelope,
        src_ip=there.envelope.dst_ip, dst_ip=there.envelope.src_ip,
        src_mac=there.envelope.dst_mac, dst_mac=there.envelope.src_mac,
    )  # fmt: skip
    frame = encode_packet(replace(there, envelope=envelope))
    assert bench.feed(frame, job.port(1)) == [(job.port(0), frame)]


def test_bth_that_does_not_fit_is_passed_by() -> None:
    job = Job()
    bench = Bench(job)
    short = bytearray(job.frame(0, 1, 0)[: 14 + 20 + 8 + 8])
    short[16:18] = (36).to_bytes(2, "big")
    short[38:40] = (16).to_bytes(2, "big")
    short[24:26] = b"\0\0"
    total = sum(struct.unpack(">10H", short[14:34]))
    short[24:26] = (~(total % 0xFFFF) & 0xFFFF).to_bytes(2, "big")
    assert bench.feed(bytes(short), job.port(0)) == [(job.port(1), bytes(short))]


def test_no_ring_makes_a_plain_switch() -> None:
    job = Job()
    bench = Bench(job, rings=())
    for rank in range(3):
        frame = job.frame(rank, 1, 1)
        assert bench.feed(frame, job.port(rank)) == [(job.port((rank + 1) % 3), frame)]


def test_captured_rxe_traffic_passes_a_ring(rxe_captures: Path) -> None:
    """Frames of a stock RoCE stack through a switch whose ring joins the very same hosts."""
    raw = (rxe_captures / "send_m1024.A.pcap").read_bytes()
    frames, at = [], 24
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at + 8)[0]
        frames.append(raw[at + 16 : at + 16 + size])
        at += 16 + size
    addresses = sorted({frame[26:30] for frame in frames if frame[12:14] == b"\x08\x00"})
    assert len(addresses) == 2
    job = Job(size=2)
    members = tuple(RingMember(rank, ip, rank) for rank, ip in enumerate(addresses))
    program = NetReduceProgram(replace(job.config(), rings=(replace(job.ring(), members=members),)))
    passed = []
    for frame in frames:
        port = addresses.index(frame[26:30]) if frame[12:14] == b"\x08\x00" else 0
        program.receive_frame(port, frame, 0)
        passed += [bytes(sent) for _, sent in program.frames_to_send(0)]
    assert passed == frames
    assert not [event for event in iter(program.next_event, None) if isinstance(event, PacketIgnored)]
