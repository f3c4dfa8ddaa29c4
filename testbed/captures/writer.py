"""Captures are written as pcapng, whose blocks `testbed.captures.pcapng` describes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Protocol

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
from workloads.machine import Buffer, FrameBatch

if not cython.compiled:

    def epb_head(length: int, port: int, time_ns: int, size: int) -> bytes:
        """What stands in front of a frame of `size` bytes in its block of `length` bytes. The compiled body is in the
        .pxd."""
        return EPB_HEAD.pack(EPB, length, port, time_ns >> 32, time_ns & 0xFFFFFFFF, size, size)


__all__ = ["PcapngWriter", "Pieces"]

_ETHERNET = 1
_INBOUND = 1


class _Target(Protocol):
    """What a writer needs of a file."""

    def write(self, data: Buffer, /) -> int:
        """How many bytes of it were written."""
        ...


class Pieces:
    """A capture in memory, as a file for a writer. Each piece is a number of whole blocks."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: Buffer, /) -> int:
        self.pieces.append(bytes(data))
        return len(data)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) & 3)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


class PcapngWriter:
    """Appends blocks to a file, each whole. `held_bytes` of them may wait in memory; `flush` writes these."""

    def __init__(self, file: _Target, interfaces: Sequence[str], held_bytes: int = 0) -> None:
        self._file, self._most = file, held_bytes
        self._tails: dict[int, bytes] = {}
        self._held: list[Buffer] = []
        self._bytes = 0
        head = _block(SHB, struct.pack("<IHHq", MAGIC, 1, 0, -1))
        for name in interfaces:
            options = _option(IF_NAME, name.encode()) + _option(IF_TSRESOL, b"\x09") + _option(OPT_END, b"")
            head += _block(IDB, struct.pack("<HHI", _ETHERNET, 0, 0) + options)
        self._held.append(head)
        self._wrote(len(head))

    def write_batch(self, batch: FrameBatch, start: int, stop: int, time_ns: int, *, outgoing: bool) -> None:
        """Rows start..stop-1; the interface of a row is its port. Their blocks are written together."""
        rows, stride = batch.frames, batch.stride
        flat = rows.reshape(-1).data
        lengths, ports = batch.lengths[start:stop].tolist(), batch.ports[start:stop].tolist()
        tails = self._tails
        parts: list[Buffer] = []
        at = start * stride
        for length, port in zip(lengths, ports, strict=True):
            tail = tails.get(length << 1 | outgoing) or self._tail(length, outgoing)
            parts += epb_head(28 + length + len(tail), port, time_ns, length), flat[at : at + length], tail
            at += stride
        octets = b"".join(parts)  # the rows may change before they are written
        self._held.append(octets)
        self._wrote(len(octets))

    def write_frame(self, port: int, frame: Buffer, time_ns: int, outgoing: bool, comment: str = "") -> None:
        octets = frame if type(frame) is bytes else bytes(frame)
        size = len(octets)
        tail = b"" if comment else self._tails.get(size << 1 | outgoing, b"")
        tail = tail or self._tail(size, outgoing, comment)
        length = 28 + size + len(tail)
        held = self._held
        held.append(epb_head(length, port, time_ns, size))
        held.append(octets)
        held.append(tail)
        self._wrote(length)

    def write_blocks(self, blocks: bytes) -> None:
        """Blocks that are whole."""
        self._held.append(blocks)
        self._wrote(len(blocks))

    def flush(self) -> None:
        """Write what waits in memory. Raises OSError."""
        data = b"".join(self._held)
        self._held.clear()
        self._bytes = 0
        written = 0
        while written < len(data):
            written += self._file.write(memoryview(data)[written:] if written else data)

    def _wrote(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._most:
            self.flush()

    def _tail(self, length: int, outgoing: bool, comment: str = "") -> bytes:
        """What follows the frame's bytes: padding, options, total length."""
        tail = bytes(-length & 3)
        if comment:
            tail += _option(OPT_COMMENT, comment.encode())
        tail += _option(EPB_FLAGS, struct.pack("<I", OUTBOUND if outgoing else _INBOUND)) + _option(OPT_END, b"")
        tail += struct.pack("<I", 28 + length + len(tail) + 4)
        if not comment:
            self._tails[length << 1 | outgoing] = tail
        return tail
