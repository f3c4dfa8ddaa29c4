"""What a NetReduce ring drops, and counts: packets that are not what its members send."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.netreduce_harness import Bench, Job
from workloads.wire import Opcode, encode_packet, icrc_of, psn_add
from workloads.wire.envelope import ipv4_checksum


def test_overrun_is_dropped_and_counted() -> None:
    """Message 2N and later before anything of message N is complete."""
    bench = Bench(Job(lengths=(1, 4, 4, 4, 4, 4)))
    bench.run_through(1)
    for offset in range(4):
        assert bench.data(0, 4, offset) == []
    assert bench.reasons() == ["overrun", "nofirst", "nofirst", "nofirst"]
    bench.run_after(1)


def test_repeated_packet_with_another_payload() -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 1 - 1)
    changed = replace(bench.job.packet(0, 1, 0), payload=bench.job.header(0, 1) + bytes(240))
    assert bench.feed(encode_packet(changed), bench.job.port(0)) == []
    assert bench.reasons() == ["mismatch"]
    assert bench.everyone(1, 0, but=[0]) == bench.all_of(1, 0)


@pytest.mark.parametrize("size", [0, 4, 100, 252, 260, 1024])
def test_length_that_differs(size: int) -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    bench.data(0, 1, 1)
    bench.data(1, 1, 0)
    odd = replace(bench.job.packet(1, 1, 1), payload=bytes(size))
    assert bench.feed(encode_packet(odd), bench.job.port(1)) == []
    assert bench.reasons() == ["length"]
    assert bench.everyone(1, 0, but=[0, 1]) == bench.all_of(1, 0)
    assert bench.everyone(1, 1, but=[0]) == bench.all_of(1, 1)


def test_padded_packets_are_not_aggregated() -> None:
    """A pad would have to be in the result too; elements never need one."""
    job = Job(tail_bytes=60)
    bench = Bench(job)
    bench.run_through(1)
    for offset in range(3):
        bench.data(0, 1, offset)
    padded = bytearray(job.frame(0, 1, 3))
    padded[14 + 20 + 8 + 1] |= 0x30
    for length_at in (16, 38):
        length = int.from_bytes(padded[length_at : length_at + 2], "big") + 3
        padded[length_at : length_at + 2] = length.to_bytes(2, "big")
    padded[24:26] = ipv4_checksum(padded[14:34]).to_bytes(2, "big")
    padded[-4:] = bytes(3)
    padded += icrc_of(padded[14:])
    assert bench.feed(bytes(padded), job.port(0)) == []
    assert bench.reasons() == ["length"]


@pytest.mark.parametrize("size", [254, 1, 257, 260])
def test_length_that_no_first_contribution_may_have(size: int) -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    odd = replace(bench.job.packet(0, 1, 1), payload=bytes(size))
    assert bench.feed(encode_packet(odd), bench.job.port(0)) == []
    assert bench.reasons() == ["length"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"msg_len_pkts": 0}, "inconsistent_first"),
        ({"msg_len_pkts": 1}, "inconsistent_first"),
        ({"msg_len_pkts": 5}, "inconsistent_first"),
        ({"op": 1}, "inconsistent_first"),
        ({"dtype": 0}, "inconsistent_first"),
        ({"op": 9}, "inconsistent_first"),
        ({"msg_id": 2}, "inconsistent_first"),
    ],
)
def test_header_that_contradicts_the_ring(changes: dict[str, int], reason: str) -> None:
    bench = Bench(Job())
    bench.run_through(2)
    header = bench.job.header(0, 2, **{"msg_id": 2, **changes})
    psn = psn_add(bench.job.psn(0, 2, 0), 3 if changes == {"msg_id": 2} else 0)
    assert bench.feed(bench.job.frame(0, 2, 0, header=header, psn=psn), bench.job.port(0)) == []
    assert bench.reasons() == [reason]
    assert bench.everyone(2, 0) == bench.all_of(2, 0)


def test_ranks_that_announce_different_lengths() -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    assert bench.data(1, 1, 0, header=bench.job.header(1, 1, msg_len_pkts=3)) == []
    assert bench.reasons() == ["inconsistent_first"]


def test_the_same_message_at_another_psn() -> None:
    bench = Bench(Job())
    bench.run_through(2)
    assert bench.data(0, 1, 0, psn=bench.job.psn(0, 1, 1)) == []
    assert bench.data(0, 1, 0, psn=bench.job.psn(0, 3, 3)) == []
    assert bench.reasons() == ["inconsistent_first", "inconsistent_first"]


@pytest.mark.parametrize("opcode", [Opcode.WRITE_MIDDLE, Opcode.SEND_MIDDLE])
def test_opcode_out_of_place(opcode: Opcode) -> None:
    bench = Bench(Job())
    bench.run_through(1)
    bench.data(0, 1, 0)
    last = replace(bench.job.packet(0, 1, 3), imm=None)
    frame = encode_packet(replace(last, bth=replace(last.bth, opcode=int(opcode))))
    assert bench.feed(frame, bench.job.port(0)) == []
    assert bench.reasons() == ["malformed"]


def test_data_on_the_wrong_port() -> None:
    job = Job()
    bench = Bench(job)
    bench.run_through(1)
    assert bench.feed(job.frame(0, 1, 0), job.port(1)) == []
    assert bench.reasons() == ["wrong_port"]
    assert bench.everyone(1, 0) == bench.all_of(1, 0)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 5), st.integers(0, 400), st.binary(min_size=0, max_size=4), st.integers(0, 360), st.booleans())
def test_malformed_frames_never_raise(which: int, at: int, patch: bytes, size: int, seal: bool) -> None:
    """Any bytes of any frame replaced, any truncation; with the iCRC repaired, too."""
    job = Job(tail_bytes=12)
    bench = Bench(job)
    bench.program.receive_frame(0, job.frame(0, 0, 0), 0)
    frame = bytearray(job.frame(0, *[(0, 0), (1, 0), (1, 1), (1, 3), (2, 0), (2, 3)][which]))
    frame[at : at + len(patch)] = patch
    frame = frame[:size] if at % 2 else frame
    if seal and len(frame) > 60 and frame[14] == 0x45:
        frame[-4:] = icrc_of(frame[14:-4])
    bench.program.receive_frame(0, bytes(frame), 0)
    for port, sent in bench.program.frames_to_send(0):
        assert port != 0
        assert bytes(sent) == bytes(frame)  # one rank alone completes nothing


def test_pad_that_exceeds_the_packet_is_malformed() -> None:
    job = Job(lengths=(1, 2), message_packets=2)
    bench = Bench(job)
    bench.run_through(1)
    frame = bytearray(job.frame(0, 1, 1))
    packet = replace(job.packet(0, 1, 1), payload=b"")
    frame = bytearray(encode_packet(packet))
    frame[14 + 20 + 8 + 1] |= 0x30
    frame[-4:] = icrc_of(frame[14:-4])
    assert bench.feed(bytes(frame), job.port(0)) == []
    assert bench.reasons() == ["malformed"]
    assert bench.counters()["malformed"] == 1
