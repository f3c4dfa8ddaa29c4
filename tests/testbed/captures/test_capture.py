"""Captures: our writer and reader, tcpdump and scapy as witnesses."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.utils import RawPcapNgReader

from testbed.captures.capture import BoundedTap, FileCapture, MemoryTap, PcapngTap, split_by_link
from testbed.captures.pcapng import CapturedFrame, Interface, complete_length, frames_of, read_capture
from testbed.captures.writer import PcapngWriter, Pieces
from tests.support.judged import good_capture, small_plan, write_capture
from workloads.machine import FrameBatch

NAMES = ["h1-s1", "h2-s1", "h3-s1"]


def batch_of(*rows: tuple[int, bytes]) -> FrameBatch:
    batch = FrameBatch.of(max(1, len(rows)), 2048)
    for port, frame in rows:
        batch.append(port, frame)
    return batch


def test_round_trip(tmp_path):
    path = tmp_path / "s1.pcapng"
    tap = PcapngTap(path, NAMES)
    rows = [(port, bytes([port]) * size) for port, size in ((0, 60), (2, 61), (1, 62), (1, 63), (0, 1500))]
    tap.record(batch_of(*rows), 1, 5, 2**32 + 7, False)
    tap.record(batch_of(*rows), 0, 2, 2**32 + 8, True)
    tap.record(batch_of(*rows), 2, 2, 2**32 + 8, True)
    tap.dropped(1, memoryview(b"\5" * 64), 2**32 + 9, True, "filter")
    tap.close()
    interfaces: list[Interface] = []
    assert list(read_capture(path, interfaces)) == [
        *(CapturedFrame(port, 2**32 + 7, False, frame, "") for port, frame in rows[1:5]),
        *(CapturedFrame(port, 2**32 + 8, True, frame, "") for port, frame in rows[0:2]),
        CapturedFrame(1, 2**32 + 9, True, b"\5" * 64, "dropped: filter"),
    ]
    assert [interface.name for interface in interfaces] == NAMES


def test_rows_of_an_array_that_is_not_contiguous(tmp_path):
    wide = np.arange(4 * 4096, dtype=np.uint8).reshape(4, 4096)
    batch = FrameBatch(wide[:, 1000:3000], np.full(4, 100, np.int32), np.zeros(4, np.int32), 4)
    path = tmp_path / "x.pcapng"
    tap = PcapngTap(path, NAMES)
    tap.record(batch, 1, 4, 0, False)
    tap.close()
    assert [seen.frame for seen in read_capture(path)] == [bytes(batch.row(row)) for row in (1, 2, 3)]


@pytest.mark.programs
def test_tcpdump_reads_it(tmp_path):
    tcpdump = shutil.which("tcpdump") or "/usr/bin/tcpdump"
    if not Path(tcpdump).exists():
        pytest.skip("tcpdump is not installed")
    plan = small_plan()
    steps = good_capture(plan)
    path = write_capture(plan, steps, tmp_path)
    done = subprocess.run(
        [tcpdump, "-nn", "-r", path, "udp port 4791"], capture_output=True, text=True, check=True, timeout=20
    )
    assert len(done.stdout.splitlines()) == len(steps)
    assert "10.77.0.2" in done.stdout
    assert ".4791: UDP, length" in done.stdout


def test_scapy_reads_it(tmp_path):
    plan = small_plan()
    steps = good_capture(plan)
    path = write_capture(plan, steps, tmp_path)
    tap = PcapngTap(path, NAMES)
    tap.dropped(2, b"\1" * 61, 9, False, "filter")
    tap.close()
    with RawPcapNgReader(str(path)) as reader:
        packets = list(reader)
    assert [data for data, _ in packets] == [*(step.frame for step in steps), b"\1" * 61]
    for step, (_, meta) in zip(steps, packets, strict=False):
        assert meta.direction == (2 if step.outgoing else 1)
        assert meta.ifname.decode() == NAMES[step.port]
        assert meta.tsresol == 10**9
    times = [meta.tshigh << 32 | meta.tslow for _, meta in packets]
    assert times[:3] == [0, 1000, 2000]
    comment = packets[-1][1].comments
    assert comment == [b"dropped: filter"]


def test_split_by_link(tmp_path):
    plan = small_plan()
    steps = good_capture(plan)
    path = write_capture(plan, steps, tmp_path)
    tap = PcapngTap(path, NAMES)
    tap.dropped(1, b"\1" * 61, 9, False, "filter")
    tap.close()
    parts = split_by_link(path, tmp_path / "links")
    assert [part.name for part in parts] == ["h1-s1.pcapng", "h2-s1.pcapng", "h3-s1.pcapng"]
    for port, part in enumerate(parts):
        interfaces: list[Interface] = []
        frames = list(read_capture(part, interfaces))
        expected = [step for step in steps if step.port == port]
        assert [(seen.outgoing, seen.frame) for seen in frames if not seen.comment] == [
            (step.outgoing, step.frame) for step in expected
        ]
        assert {interface.name for interface in interfaces} == {NAMES[port]}
        assert [seen.comment for seen in frames if seen.comment] == (["dropped: filter"] if port == 1 else [])
        with RawPcapNgReader(str(part)) as reader:
            assert sum(1 for _ in reader) == len(frames)


def test_link_names_that_are_no_file_names(tmp_path):
    path = tmp_path / "x.pcapng"
    PcapngTap(path, ["../h1 s1"]).close()
    assert [part.name for part in split_by_link(path, tmp_path / "out")] == [".._h1_s1.pcapng"]


@given(cut=st.integers(1, 200))
def test_second_life_of_a_killed_switch(tmp_path_factory, cut):
    """Its capture goes on behind the last whole block of the first life."""
    path = tmp_path_factory.mktemp("capture") / "s1.pcapng"
    tap = PcapngTap(path, NAMES)
    for number in range(3):
        tap.record(batch_of((0, bytes([number]) * 100)), 0, 1, number, False)
    tap.close()
    path.write_bytes(path.read_bytes()[:-cut])
    tap = PcapngTap(path, NAMES)
    tap.record(batch_of((1, b"\7" * 100)), 0, 1, 9, True)
    tap.close()
    kept = 2 if cut <= 144 else 1
    frames = list(read_capture(path))
    assert [seen.frame[0] for seen in frames] == [*range(kept), 7]
    assert frames[-1].interface == 1
    assert complete_length(path) == path.stat().st_size


def test_frames_recorded_are_on_disk_at_once(tmp_path):
    path = tmp_path / "s1.pcapng"
    tap = PcapngTap(path, NAMES)
    tap.record(batch_of((0, b"\1" * 60)), 0, 1, 5, False)
    assert len(list(read_capture(path))) == 1
    tap.close()


@pytest.mark.parametrize("kind", [PcapngTap, lambda path, names: PcapngTap(path, names, held_bytes=1 << 20)])
def test_single_frames_are_recorded_as_batches_are(kind, tmp_path):
    rows = [(0, b"\1" * 60), (2, b"\2" * 61)]
    many, single, memory = kind(tmp_path / "a", NAMES), kind(tmp_path / "b", NAMES), MemoryTap("s1", NAMES)
    many.record(batch_of(*rows), 0, 2, 5, True)
    for port, frame in rows:
        single.record_frame(port, frame, 5, True)
        memory.record_frame(port, frame, 5, True)
    many.close()
    single.close()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert list(FileCapture(tmp_path / "b").read()) == list(memory.read())


ROWS = [(2**32 + 5, 0, False, b"\1" * 60), (2**32 + 5, 2, True, b"\2" * 61), (2**40, 1, True, b"\3" * 62)]
"""(time, port, outgoing, frame)"""


def blocks_of(rows):
    written = Pieces()
    writer = PcapngWriter(written, [])
    written.pieces.clear()
    for now, port, outgoing, frame in rows:
        writer.write_frame(port, frame, now, outgoing)
    return b"".join(written.pieces)


def test_blocks_recorded_are_frames_recorded(tmp_path):
    taps = [(MemoryTap("s1", NAMES), PcapngTap(tmp_path / name, NAMES)) for name in ("blocks", "frames")]
    for blocks, frames in zip(*taps, strict=True):
        blocks.record_blocks(blocks_of(ROWS))
        for now, port, outgoing, frame in ROWS:
            frames.record_frame(port, frame, now, outgoing)
        for tap in (blocks, frames):
            tap.dropped(1, b"\4" * 63, 2**41, True, "filter")
            tap.close()
    assert list(taps[0][0].read()) == list(taps[1][0].read()) != []
    assert (tmp_path / "blocks").read_bytes() == (tmp_path / "frames").read_bytes()


def test_frames_of_blocks():
    assert [(seen.time_ns, seen.interface, seen.outgoing, seen.frame) for seen in frames_of(blocks_of(ROWS))] == ROWS


def test_a_bounded_tap_takes_no_more_blocks_than_fit(tmp_path):
    blocks, limit = blocks_of(ROWS), 2000
    tap = BoundedTap(tmp_path / "s1.pcapng", NAMES, limit)
    while not tap.is_full:
        tap.record_blocks(blocks)
    tap.close()
    assert len(blocks) < limit - (tmp_path / "s1.pcapng").stat().st_size + len(blocks) <= limit
    assert len(list(read_capture(tmp_path / "s1.pcapng"))) >= len(ROWS)


@pytest.mark.parametrize("held_bytes", [0, 300, 1 << 20])
def test_held_frames_are_written_when_they_are_too_many_and_at_the_end(tmp_path, held_bytes):
    path = tmp_path / "s1.pcapng"
    tap = PcapngTap(path, NAMES, held_bytes)
    for number in range(4):
        tap.record_frame(0, bytes([number]) * 60, number, False)
    early = list(read_capture(path)) if path.stat().st_size else []
    tap.close()
    assert [seen.frame[0] for seen in early] == {0: [0, 1, 2, 3], 300: [0, 1], 1 << 20: []}[held_bytes]
    assert [seen.frame[0] for seen in read_capture(path)] == [0, 1, 2, 3]


def test_what_a_disk_takes_in_parts_is_written_whole():
    class Slow:
        octets = b""

        def write(self, data):
            self.octets += bytes(data[:7])
            return min(7, len(data))

    slow, whole = Slow(), Pieces()
    for target in (slow, whole):
        writer = PcapngWriter(target, NAMES, 500)
        for now, port, outgoing, frame in ROWS * 3:
            writer.write_frame(port, frame, now, outgoing)
        writer.flush()
    assert slow.octets == b"".join(whole.pieces)


def test_a_frame_that_its_owner_changes_afterwards_stays_as_it_was(tmp_path):
    frame = bytearray(b"\1" * 60)
    tap = MemoryTap("s1", NAMES)
    tap.record_frame(0, frame, 5, False)
    frame[:] = bytes(60)
    assert [seen.frame for _, seen in tap.read()] == [b"\1" * 60]


def test_frames_longer_than_a_piece_of_the_file_and_those_on_its_border(tmp_path):
    path = tmp_path / "s1.pcapng"
    frames = [bytes([number % 256]) * (1400 + number % 5) for number in range(1600)]
    tap = PcapngTap(path, NAMES, 1 << 20)
    for number, frame in enumerate(frames):
        tap.record_frame(number % 3, frame, number, number % 2 == 0)
    tap.close()
    assert path.stat().st_size > 2 << 20
    assert [(seen.interface, seen.time_ns, seen.outgoing, seen.frame) for seen in read_capture(path)] == [
        (number % 3, number, number % 2 == 0, frame) for number, frame in enumerate(frames)
    ]
    tap = PcapngTap(tmp_path / "long", NAMES)
    tap.record_frame(0, bytes(3 << 20), 1, True)
    tap.close()
    assert [len(seen.frame) for seen in read_capture(tmp_path / "long")] == [3 << 20]


@pytest.mark.parametrize(
    ("block", "found"),
    [(struct.pack("<IIII", 6, 16, 0, 16), "a packet's block of 16 bytes"),
     (struct.pack("<IIIIIIII", 6, 32, 3, 0, 0, 0, 0, 32), "a frame of interface 3; 3 are described")],
    ids=["short", "unknown interface"],
)  # fmt: skip
def test_a_file_that_contradicts_itself_is_refused(block, found, tmp_path):
    path = tmp_path / "s1.pcapng"
    PcapngTap(path, NAMES).close()
    path.write_bytes(path.read_bytes() + block)
    with pytest.raises(ValueError, match=found):
        list(read_capture(path))


def test_a_frame_of_an_unknown_interface_goes_to_no_file(tmp_path):
    path = tmp_path / "s1.pcapng"
    PcapngTap(path, NAMES).close()
    path.write_bytes(path.read_bytes() + struct.pack("<IIIIIIII", 6, 32, 3, 0, 0, 0, 0, 32))
    with pytest.raises(ValueError, match="a frame of interface 3; 3 are described"):
        split_by_link(path, tmp_path / "links")


def test_reader_takes_big_endian_microseconds_and_unknown_blocks(tmp_path):
    def block(kind, body):
        return struct.pack(">II", kind, len(body) + 12) + body + struct.pack(">I", len(body) + 12)

    head = block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = block(1, struct.pack(">HHI", 1, 0, 0))
    other = block(5, bytes(12))
    frame = bytes(range(61))
    options = struct.pack(">HHI", 2, 4, 2) + struct.pack(">HH", 1, 2) + b"hi\0\0" + bytes(4)
    packet = block(6, struct.pack(">IIIII", 0, 0, 5, 61, 61) + frame + bytes(3) + options)
    path = tmp_path / "big.pcapng"
    path.write_bytes(head + interface + other + packet)
    assert list(read_capture(path)) == [CapturedFrame(0, 5000, True, frame, "hi")]


def test_not_a_pcapng(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(20))
    with pytest.raises(ValueError, match="is no pcapng file"):
        list(read_capture(path))


def test_a_tap_in_memory_tells_what_one_in_a_file_tells(tmp_path):
    taps = MemoryTap("s1", ["a", "b"]), PcapngTap(tmp_path / "s1.pcapng", ["a", "b"])
    for tap in taps:
        batch = FrameBatch.of(2, 64)
        batch.append(1, b"x" * 60)
        batch.append(0, b"y" * 20)
        tap.record(batch, 0, 2, 7, True)
        tap.dropped(1, b"z" * 30, 9, False, "filter")
        tap.close()
    assert list(taps[0].read()) == list(FileCapture(taps[1].path).read())
    assert [name for name, _ in taps[0].read()] == ["b", "a", "b"]
