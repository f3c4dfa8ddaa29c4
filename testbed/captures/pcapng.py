"""Captures as pcapng (IETF draft-ietf-opsawg-pcapng): one section, one interface per port, nanosecond times.

Blocks that we write: SHB, one IDB per interface (if_name, if_tsresol 9), EPBs with epb_flags (direction) and, where a
fault decided, opt_comment. The reader takes any section of either byte order and skips what it does not know. A last
block that a killed process left unfinished is ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from workloads.machine import Buffer, FrameBatch

__all__ = [
    "EPB", "IDB", "SHB", "CapturedFrame", "Interface", "PcapngWriter", "complete_length", "interface_of", "read_blocks",
    "read_capture",
]  # fmt: skip

SHB, IDB, EPB = 0x0A0D0D0A, 1, 6
"""block types: section header, interface description, enhanced packet"""
_MAGIC, _ETHERNET = 0x1A2B3C4D, 1
_OPT_END, _OPT_COMMENT, _IF_NAME, _IF_TSRESOL, _EPB_FLAGS = 0, 1, 2, 9, 2
_INBOUND, _OUTBOUND = 1, 2
_EPB_HEAD = struct.Struct("<IIIIIII")
"""block type, total length, interface, time high, time low, captured length, original length"""


@dataclass(frozen=True, slots=True)
class Interface:
    name: str
    ns_per_tick: float
    """resolution of its times"""


class CapturedFrame(NamedTuple):
    interface: int
    time_ns: int
    outgoing: bool
    """left the machine; False: entered it, or unknown"""
    frame: bytes
    comment: str
    """comment of the fault that decided about this frame; empty when none did"""


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) & 3)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


class PcapngWriter:
    """Appends blocks to a file, each in one call of `write`."""

    def __init__(self, file: BinaryIO, interfaces: Sequence[str]) -> None:
        self._file = file
        self._tails: dict[int, bytes] = {}
        head = _block(SHB, struct.pack("<IHHq", _MAGIC, 1, 0, -1))
        for name in interfaces:
            options = _option(_IF_NAME, name.encode()) + _option(_IF_TSRESOL, b"\x09") + _option(_OPT_END, b"")
            head += _block(IDB, struct.pack("<HHI", _ETHERNET, 0, 0) + options)
        self._write(head)

    def write_batch(self, batch: FrameBatch, start: int, stop: int, time_ns: int, *, outgoing: bool) -> None:
        """Rows start..stop-1; the interface of a row is its port. One write for all of them."""
        rows, stride = batch.frames, batch.stride
        flat = rows.reshape(-1).data
        lengths, ports = batch.lengths[start:stop].tolist(), batch.ports[start:stop].tolist()
        high, low, pack, tails = time_ns >> 32, time_ns & 0xFFFFFFFF, _EPB_HEAD.pack, self._tails
        parts: list[Buffer] = []
        at = start * stride
        for length, port in zip(lengths, ports, strict=True):
            tail = tails.get(length << 1 | outgoing) or self._tail(length, outgoing)
            parts += (
                pack(EPB, 28 + length + len(tail), port, high, low, length, length),
                flat[at : at + length],
                tail,
            )
            at += stride
        self._write(b"".join(parts))

    def write_frame(self, port: int, frame: Buffer, time_ns: int, *, outgoing: bool, comment: str = "") -> None:
        size = len(frame)
        tail = b"" if comment else self._tails.get(size << 1 | outgoing, b"")
        tail = tail or self._tail(size, outgoing, comment)
        head = _EPB_HEAD.pack(EPB, 28 + size + len(tail), port, time_ns >> 32, time_ns & 0xFFFFFFFF, size, size)
        self._write(b"".join((head, frame, tail)))

    def _write(self, data: bytes) -> None:
        written = self._file.write(data)
        while written < len(data):
            written += self._file.write(memoryview(data)[written:])

    def _tail(self, length: int, outgoing: bool, comment: str = "") -> bytes:
        """What follows the frame's bytes: padding, options, total length."""
        tail = bytes(-length & 3)
        if comment:
            tail += _option(_OPT_COMMENT, comment.encode())
        tail += _option(_EPB_FLAGS, struct.pack("<I", _OUTBOUND if outgoing else _INBOUND)) + _option(_OPT_END, b"")
        tail += struct.pack("<I", 28 + length + len(tail) + 4)
        if not comment:
            self._tails[length << 1 | outgoing] = tail
        return tail


def complete_length(path: Path) -> int:
    """Bytes up to the end of the last whole block."""
    end = 0
    with path.open("rb") as file:
        for _, block, _ in _raw_blocks(file):
            end += len(block)
    return end


def _raw_blocks(file: BinaryIO) -> Iterator[tuple[int, bytes, str]]:
    """(type, whole block, byte order) until the end or the first block that is not whole."""
    order = "<"
    while len(head := file.read(8)) == 8:
        if head[:4] == b"\x0a\x0d\x0d\x0a":
            magic = file.read(4)
            order = "<" if magic == struct.pack("<I", _MAGIC) else ">"
            head += magic
        kind, length = struct.unpack_from(order + "II", head)
        if length < 12 or length % 4:
            return
        block = head + file.read(length - len(head))
        if len(block) < length:
            return
        yield kind, block, order


def read_blocks(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """(type, whole block, byte order `<` or `>`). Raises ValueError when the file does not start as pcapng does."""
    with path.open("rb", buffering=1 << 20) as file:
        if file.read(4) != b"\x0a\x0d\x0d\x0a":
            raise ValueError(f"{path} is no pcapng file")
        file.seek(0)
        yield from _raw_blocks(file)


def read_capture(path: Path, interfaces: list[Interface] | None = None) -> Iterator[CapturedFrame]:
    """Frames in file order. `interfaces` is filled as they are found. A second section that describes an interface
    again under the same number replaces it. Raises ValueError when the file is no pcapng, or contradicts itself."""
    found = [] if interfaces is None else interfaces
    count = 0
    for kind, block, order in read_blocks(path):
        if kind == EPB:
            if len(block) < 32:
                raise ValueError(f"{path}: a packet's block of {len(block)} bytes")
            number, high, low, captured = struct.unpack_from(order + "IIII", block, 8)
            if number >= len(found):
                raise ValueError(f"{path}: a frame of interface {number}; {len(found)} are described")
            end = 28 + captured
            time_ns = high << 32 | low
            scale = found[number].ns_per_tick
            if scale != 1:
                time_ns = round(time_ns * scale)
            outgoing, comment = False, ""
            at = end + (-captured & 3)
            # Our own blocks without a comment end alike: flags, end of options, length.
            if order == "<" and len(block) - at == 16 and block[at : at + 4] == b"\x02\x00\x04\x00":
                outgoing = block[at + 4] & 3 == _OUTBOUND
            else:
                for code, value in _options(block, at, order):
                    if code == _EPB_FLAGS and len(value) == 4:
                        outgoing = struct.unpack(order + "I", value)[0] & 3 == _OUTBOUND
                    elif code == _OPT_COMMENT:
                        comment = value.decode("utf-8", "replace")
            yield CapturedFrame(number, time_ns, outgoing, block[28:end], comment)
        elif kind == IDB:
            interface = interface_of(block, order, count)
            found[count : count + 1] = [interface]
            count += 1
        elif kind == SHB:
            count = 0


def _options(block: bytes, at: int, order: str) -> Iterator[tuple[int, bytes]]:
    while at + 4 <= len(block) - 4:
        code, length = struct.unpack_from(order + "HH", block, at)
        if code == _OPT_END:
            return
        yield code, block[at + 4 : at + 4 + length]
        at += 4 + length + (-length & 3)


def interface_of(block: bytes, order: str, number: int) -> Interface:
    name, scale = f"port{number}", 1000.0
    for code, value in _options(block, 16, order):
        if code == _IF_NAME:
            name = value.decode("utf-8", "replace")
        elif code == _IF_TSRESOL and value:
            exponent = value[0] & 0x7F
            scale = 1e9 * (2.0**-exponent if value[0] & 0x80 else 10.0**-exponent)
    return Interface(name, 1 if scale == 1.0 else scale)
