"""Captures as pcapng (IETF draft-ietf-opsawg-pcapng): one section, one interface per port, nanosecond times.

Blocks that `testbed.captures.writer` writes: SHB, one IDB per interface (if_name, if_tsresol 9), EPBs with epb_flags
(direction) and, where a fault decided, opt_comment. The reader takes any section of either byte order and skips what it
does not know. A last block that a killed process left unfinished is ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import cython

from testbed.captures.layout import (
    EPB,
    EPB_FLAGS,
    EPB_HEAD,
    IDB,
    IF_NAME,
    IF_TSRESOL,
    MAGIC,
    OPT_COMMENT,
    OPT_END,
    OUTBOUND,
    SHB,
)

if not cython.compiled:

    def get32_little(octets: bytes, at: int) -> int:
        """The four bytes from `at` on, which lie in `octets`, as a little-endian word. The compiled body is in the
        .pxd."""
        return int.from_bytes(octets[at : at + 4], "little")

    def copied(octets: bytes, at: int, end: int) -> bytes:
        """The bytes from `at` to `end`, which lie in `octets`. The compiled body is in the .pxd."""
        return octets[at:end]


__all__ = [
    "CapturedFrame", "Interface", "complete_length", "frames_of", "interface_of", "read_blocks", "read_capture",
    "read_named", "read_pieces",
]  # fmt: skip

_FRAME, _SECTION, _INTERFACE, _BYTE_ORDER, _OUT = EPB, SHB, IDB, MAGIC, OUTBOUND
_FLAGS_OPTION = 4 << 16 | EPB_FLAGS
"""first word of the option that holds them"""
_PIECE_BYTES = 1 << 20
"""how much of a file is read at once"""
_new_tuple = tuple.__new__


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


class _Source(Protocol):
    """What a reader needs of a file."""

    def read(self, size: int, /) -> bytes:
        """So many bytes, or fewer where these end a block; none at the end."""
        ...


class _Pieces:
    """Pieces of a capture in memory, as a file."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._left = iter(pieces)

    def read(self, size: int, /) -> bytes:
        return next(self._left, b"")


def complete_length(path: Path) -> int:
    """Bytes up to the end of the last whole block."""
    end = 0
    with path.open("rb") as file:
        for _, block, _ in _raw_blocks(file):
            end += len(block)
    return end


class _Blocks:
    """The blocks of an open file in turn. `data[at:end]` is the present one, of that `kind`."""

    def __init__(self, file: _Source) -> None:
        self._file = file
        self.data = b""
        self.at = self.end = self.kind = 0
        self.is_little = True
        """byte order of its section"""

    def advance(self) -> bool:
        """Go to the next block. False: the file ends, or the next block is not whole."""
        self.at = self.end
        if not self._has(8):
            return False
        if get32_little(self.data, self.at) == _SECTION:  # the same in both orders
            if not self._has(12):
                return False
            self.is_little = get32_little(self.data, self.at + 8) == _BYTE_ORDER
        self.kind, length = self.word(0), self.word(4)
        if length < 12 or length % 4 or not self._has(length):
            return False
        self.end = self.at + length
        return True

    def word(self, offset: int) -> int:
        """The word at that offset of the block, which has it."""
        at = self.at + offset
        if self.is_little:
            return get32_little(self.data, at)
        return int.from_bytes(self.data[at : at + 4], "big")

    def block(self) -> bytes:
        return copied(self.data, self.at, self.end)

    def _has(self, size: int) -> bool:
        """Whether the file has so many bytes from `at` on, which are then in `data`."""
        if self.at + size > len(self.data):
            rest = self.data[self.at :]
            self.data, self.at = rest + self._file.read(max(_PIECE_BYTES, size - len(rest))), 0
        return self.at + size <= len(self.data)


def _raw_blocks(file: BinaryIO) -> Iterator[tuple[int, bytes, str]]:
    """(type, whole block, byte order) until the end or the first block that is not whole."""
    blocks = _Blocks(file)
    while blocks.advance():
        yield blocks.kind, blocks.block(), "<" if blocks.is_little else ">"


def _opened(path: Path) -> BinaryIO:
    """Raises ValueError when the file does not start as pcapng does."""
    file = path.open("rb")
    try:
        if file.read(4) != b"\x0a\x0d\x0d\x0a":
            raise ValueError(f"{path} is no pcapng file")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def read_blocks(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """(type, whole block, byte order `<` or `>`). Raises ValueError when the file does not start as pcapng does."""
    with _opened(path) as file:
        yield from _raw_blocks(file)


def read_capture(path: Path, interfaces: list[Interface] | None = None) -> Iterator[CapturedFrame]:
    """Frames in file order. `interfaces` is filled as they are found. A second section that describes an interface
    again under the same number replaces it. Raises ValueError when the file is no pcapng, or contradicts itself."""
    with _opened(path) as file:
        frames = _Frames(path, file, [] if interfaces is None else interfaces)
        while (found := frames.following()) is not None:
            yield found


def read_named(path: Path) -> Iterator[tuple[str, CapturedFrame]]:
    """As `read_capture`: (name of its interface, frame)."""
    with _opened(path) as file:
        yield from _named(path, file)


def read_pieces(pieces: Iterable[bytes]) -> Iterator[tuple[str, CapturedFrame]]:
    """As `read_named`, of a file in memory. Each piece ends with a block."""
    return _named(Path("memory"), _Pieces(pieces))


def _named(path: Path, file: _Source) -> Iterator[tuple[str, CapturedFrame]]:
    interfaces: list[Interface] = []
    frames = _Frames(path, file, interfaces)
    while (found := frames.following()) is not None:
        yield interfaces[frames.number].name, found


def frames_of(blocks: bytes) -> Iterator[CapturedFrame]:
    """The frames of blocks that are as those of a writer, without comments."""
    at = 0
    while at < len(blocks):
        _, length, port, high, low, size, _ = EPB_HEAD.unpack_from(blocks, at)
        is_out = get32_little(blocks, at + length - 12) == _OUT
        yield CapturedFrame(port, high << 32 | low, is_out, blocks[at + 28 : at + 28 + size], "")
        at += length


class _Frames:
    """The frames of an open file in turn."""

    def __init__(self, path: Path, file: _Source, interfaces: list[Interface]) -> None:
        """`path`: for messages."""
        self._path, self._blocks, self._interfaces = path, _Blocks(file), interfaces
        self._count = 0
        """interfaces of the section at hand"""
        self.number = 0
        """interface of the last frame"""

    def following(self) -> CapturedFrame | None:
        """Raises ValueError when the file contradicts itself."""
        blocks = self._blocks
        while blocks.advance():
            if blocks.kind == _FRAME:
                return self._frame()
            if blocks.kind == _INTERFACE:
                order = "<" if blocks.is_little else ">"
                found = interface_of(blocks.block(), order, self._count)
                self._interfaces[self._count : self._count + 1] = [found]
                self._count += 1
            elif blocks.kind == _SECTION:
                self._count = 0
        return None

    def _frame(self) -> CapturedFrame:
        blocks = self._blocks
        data, end = blocks.data, blocks.end
        begin = blocks.at + 28
        if end - begin < 4:
            raise ValueError(f"{self._path}: a packet's block of {end - blocks.at} bytes")
        number, captured = blocks.word(8), blocks.word(20)
        if number >= len(self._interfaces):
            raise ValueError(f"{self._path}: a frame of interface {number}; {len(self._interfaces)} are described")
        self.number = number
        time_ns = blocks.word(12) << 32 | blocks.word(16)
        scale = self._interfaces[number].ns_per_tick
        if scale != 1:
            time_ns = round(time_ns * scale)
        stop = begin + captured
        after = stop + (-captured & 3)
        outgoing, comment = False, ""
        # Our own blocks without a comment end alike: flags, end of options, length.
        if blocks.is_little and end - after == 16 and get32_little(data, after) == _FLAGS_OPTION:
            outgoing = get32_little(data, after + 4) & 3 == _OUT
        else:
            order = "<" if blocks.is_little else ">"
            for code, value in _options(blocks.block(), after - blocks.at, order):
                if code == EPB_FLAGS and len(value) == 4:
                    outgoing = struct.unpack(order + "I", value)[0] & 3 == _OUT
                elif code == OPT_COMMENT:
                    comment = value.decode("utf-8", "replace")
        return _new_tuple(CapturedFrame, (number, time_ns, outgoing, copied(data, begin, min(stop, end)), comment))


def _options(block: bytes, at: int, order: str) -> Iterator[tuple[int, bytes]]:
    while at + 4 <= len(block) - 4:
        code, length = struct.unpack_from(order + "HH", block, at)
        if code == OPT_END:
            return
        yield code, block[at + 4 : at + 4 + length]
        at += 4 + length + (-length & 3)


def interface_of(block: bytes, order: str, number: int) -> Interface:
    name, scale = f"port{number}", 1000.0
    for code, value in _options(block, 16, order):
        if code == IF_NAME:
            name = value.decode("utf-8", "replace")
        elif code == IF_TSRESOL and value:
            exponent = value[0] & 0x7F
            scale = 1e9 * (2.0**-exponent if value[0] & 0x80 else 10.0**-exponent)
    return Interface(name, 1 if scale == 1.0 else scale)
