"""The taps of a switch's data plane, into a file or into memory, and one file per link for people."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from switch_nodes.tap import Tap
from testbed.captures.layout import EPB, IDB, SHB
from testbed.captures.pcapng import (
    CapturedFrame,
    complete_length,
    interface_of,
    read_blocks,
    read_named,
    read_pieces,
)
from testbed.captures.writer import PcapngWriter, Pieces
from workloads.machine import Buffer, FrameBatch

__all__ = ["DROPPED", "EARLY", "TRIMMED", "BoundedTap", "FileCapture", "MemoryTap", "PcapngTap", "split_by_link"]

DROPPED = "dropped: "
"""start of the comment of a frame that a fault took away; the fault's reason follows"""
EARLY = DROPPED + "early"
"""the comment of a frame of the low class that a queue with room did not take"""
TRIMMED = "trimmed: queue"
"""the comment of the headers that a full queue left of a frame"""
_PIECE_BYTES = 1 << 20
_BLOCK_BYTES = 64
"""bytes of a block at most, in addition to its frame and without a comment"""


class _RecordingTap(Tap):
    """Records what enters and leaves one switch, all ports together, in the order in which the machine saw it."""

    _writer: PcapngWriter

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        """Rows start..stop-1 are about to enter the machine, or have just left it."""
        if stop > start:
            self._writer.write_batch(batch, start, stop, now, outgoing=outgoing)

    def record_frame(self, port: int, frame: Buffer, now: int, outgoing: bool) -> None:
        self._writer.write_frame(port, frame, now, outgoing)

    def record_blocks(self, blocks: bytes) -> None:
        """Frames as blocks of pcapng; the interface is the port. None was lost or trimmed."""
        self._writer.write_blocks(blocks)

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        """A fault took the frame away before it entered, or after it left."""
        self._writer.write_frame(port, frame, now, outgoing, DROPPED + reason)

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        """What a full queue left of a frame that had left the machine."""
        self._writer.write_frame(port, frame, now, True, TRIMMED)


class PcapngTap(_RecordingTap):
    """Records into a file.

    An existing file is continued with a new section, behind its last whole block. A switch that was killed and restarts
    keeps what its first life recorded.
    """

    def __init__(self, path: Path, interfaces: Sequence[str], held_bytes: int = 0) -> None:
        """`interfaces[port]` names the port's link. `held_bytes` are kept in memory at most; with 0, what was recorded
        survives the death of the process."""
        self.path = path
        if path.exists():
            os.truncate(path, complete_length(path))
        self._file: BinaryIO = path.open("ab", buffering=0)
        self._writer = PcapngWriter(self._file, interfaces, held_bytes)

    def close(self) -> None:
        """Raises OSError when what was held cannot be written."""
        try:
            self._writer.flush()
        finally:
            self._file.close()


class BoundedTap(PcapngTap):
    """As PcapngTap, until the file has so many bytes: what comes later is not recorded, and `is_full` says so."""

    def __init__(self, path: Path, interfaces: Sequence[str], limit_bytes: int) -> None:
        super().__init__(path, interfaces)
        self.limit_bytes, self.is_full = limit_bytes, False
        self._left = limit_bytes - path.stat().st_size

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        self._left -= sum(batch.lengths[start:stop].tolist()) + _BLOCK_BYTES * (stop - start)
        self.is_full = self.is_full or self._left < 0
        if not self.is_full:
            super().record(batch, start, stop, now, outgoing)

    def record_frame(self, port: int, frame: Buffer, now: int, outgoing: bool) -> None:
        Tap.record_frame(self, port, frame, now, outgoing)

    def record_blocks(self, blocks: bytes) -> None:
        self._left -= len(blocks)
        self.is_full = self.is_full or self._left < 0
        if not self.is_full:
            super().record_blocks(blocks)

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        """No fault is at a host."""

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        """No host trims."""


class MemoryTap(_RecordingTap):
    """As PcapngTap, but the file is in memory: it is there as long as the tap is."""

    def __init__(self, switch: str, interfaces: Sequence[str]) -> None:
        self.name = self.switch = switch
        self._pieces = Pieces()
        self._writer = PcapngWriter(self._pieces, interfaces, _PIECE_BYTES)

    def close(self) -> None:
        """Nothing to close."""

    def read(self) -> Iterator[tuple[str, CapturedFrame]]:
        """As `FileCapture.read`."""
        self._writer.flush()
        return read_pieces(self._pieces.pieces)


class FileCapture:
    """A capture that lies in a pcapng file, `SWITCH.pcapng`."""

    def __init__(self, path: Path) -> None:
        self.path, self.name, self.switch = path, path.name, path.stem

    def read(self) -> Iterator[tuple[str, CapturedFrame]]:
        """(interface, frame) in the order in which the machine saw them. Raises OSError and ValueError for a file that
        cannot be read."""
        return read_named(self.path)


def split_by_link(path: Path, out_dir: Path) -> tuple[Path, ...]:
    """One pcapng per interface of `path`, named after it, in `out_dir` (made when absent); in the order of the
    interfaces. Frames keep times, directions and comments. Raises ValueError when `path` is no pcapng."""
    out_dir.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    files: list[BinaryIO] = []
    section, number = b"", 0
    try:
        for kind, block, order in read_blocks(path):
            if kind == SHB:
                section, number = block, 0
            elif kind == IDB:
                if number == len(files):
                    name = re.sub(r"[^A-Za-z0-9_.-]", "_", interface_of(block, order, number).name)
                    paths.append(out_dir / f"{name}.pcapng")
                    files.append(paths[-1].open("wb", buffering=1 << 18))
                files[number].write(section + block)
                number += 1
            elif kind == EPB:
                interface = struct.unpack_from(order + "I", block, 8)[0] if len(block) > 12 else number
                if interface >= number:
                    raise ValueError(f"{path}: a frame of interface {interface}; {number} are described")
                files[interface].write(block[:8] + bytes(4) + block[12:])
    finally:
        for file in files:
            file.close()
    return tuple(paths)
