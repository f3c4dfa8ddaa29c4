"""The queue of frames that compiled and Python code fill together (`frame_queue.h`), and the library of both."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import accumulate

import numpy as np

from switch_nodes.forwarding.equal_cost import SprayedCounts
from workloads.machine import Buffer, FrameBatch
from workloads.native.build import load_library
from workloads.native.layout import check_structure

__all__ = ["FrameQueue", "QueuedFrames", "StaticMacs", "switch_library"]

_POINTER, _I32, _I64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
_FIRST_GROUP = -2
_SIGNATURES: dict[str, tuple[list[object], object]] = {
    "forward_rows": ([_POINTER, _POINTER, _POINTER, _I64, _POINTER, _POINTER, _I32, _I32, _POINTER], _I32),
    "steer_rows": ([*[_POINTER] * 4, _I64, _POINTER, _POINTER, _I32, _I32, _POINTER], _I32),
    "queue_fill": ([_POINTER, _POINTER, _I64, _POINTER, _POINTER, _I32, _I32], _I32),
    "netreduce_absorb": ([_POINTER, _POINTER, _I64, _POINTER, _POINTER, _I32, _I32], _I32),
}


def switch_library() -> ctypes.CDLL | None:
    """The compiled switch programs, or None (`workloads.native.build.native_status` says why)."""
    library = load_library("switch_programs")
    return None if library is None else _signed(library)


@cache
def _signed(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, (arguments, result) in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    check_structure(library, "frame_queue", QueueStruct)
    check_structure(library, "mac_table", MacStruct)
    return library


class QueueStruct(ctypes.Structure):
    """struct frame_queue"""

    _fields_ = [
        ("data", _POINTER),
        ("start", _POINTER),
        ("length", _POINTER),
        ("port", _POINTER),
        ("capacity", _I64),
        ("rows", _I64),
        ("first", _I64),
        ("last", _I64),
        ("used", _I64),
    ]
    capacity: int
    rows: int
    first: int
    last: int
    used: int


class MacStruct(ctypes.Structure):
    """struct mac_table"""

    _fields_ = [
        *((name, _POINTER) for name in ("mac", "port", "group_start", "group_port", "sprayed")),
        ("salt", ctypes.c_uint64),
        ("bits", _I32),
        ("unused", _I32),
    ]


class StaticMacs:
    """The static forwarding entries as an open-addressing table, at most half full, and the groups behind it."""

    def __init__(
        self,
        static: Mapping[bytes, int],
        groups: Mapping[bytes, tuple[int, ...]] | None = None,
        salt: int = 0,
        sprayed: SprayedCounts | None = None,
    ) -> None:
        """`sprayed`: as `MacTable.sprayed`, the same memory."""
        equal = tuple((groups or {}).values())
        macs = {**static, **{mac: _FIRST_GROUP - index for index, mac in enumerate(groups or ())}}
        self._group_start = np.array([0, *accumulate(map(len, equal))], np.int32)
        self._group_port = np.array([port for ports in equal for port in ports], np.int32)
        bits = max(4, (2 * len(macs) + 1).bit_length())
        self._mac = np.full(1 << bits, np.iinfo(np.uint64).max, np.uint64)
        self._port = np.zeros(1 << bits, np.int32)
        for mac, port in macs.items():
            key = int.from_bytes(mac, "little")
            at = (key * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> (64 - bits)
            while self._mac[at] != np.iinfo(np.uint64).max:
                at = (at + 1) % len(self._mac)
            self._mac[at], self._port[at] = key, port
        arrays = (self._mac, self._port, self._group_start, self._group_port)
        self._sprayed = sprayed
        counts = None if sprayed is None else sprayed.ctypes.data
        self.struct = MacStruct(*(array.ctypes.data for array in arrays), counts, salt, bits, 0)
        self.pointer = ctypes.addressof(self.struct)


class FrameQueue:
    """First in, first out; frames of any length. Grows as needed, and is empty most of the time."""

    def __init__(self, library: ctypes.CDLL, capacity: int = 1 << 18, rows: int = 256) -> None:
        self._fill = library.queue_fill
        self.struct = QueueStruct()
        self.pointer = ctypes.addressof(self.struct)
        self._allocate(capacity, rows)

    def __len__(self) -> int:
        return self.struct.last - self.struct.first

    def append(self, port: int, frame: Buffer) -> None:
        state, size = self.struct, len(frame)
        if state.last >= state.rows or state.used + size > state.capacity:
            self.make_room(1, size)
        row, at = state.last, state.used
        self._data[at : at + size] = np.frombuffer(frame, np.uint8)
        self._start[row], self._length[row], self._port[row] = at, size, port
        state.last, state.used = row + 1, at + size

    def popleft(self) -> tuple[int, bytes]:
        """The oldest frame; the queue must not be empty."""
        state = self.struct
        row = state.first
        start, size = int(self._start[row]), int(self._length[row])
        found = int(self._port[row]), self._data[start : start + size].tobytes()
        state.first = row + 1
        if state.first == state.last:
            state.first = state.last = state.used = 0
        return found

    def fill(self, batch: FrameBatch) -> None:
        """Move frames to the free rows of `batch`. Raises ValueError when one is longer than a row."""
        frames, stride, lengths, ports = batch.addresses
        if self.struct.first == self.struct.last:
            return
        count = self._fill(self.pointer, frames, stride, lengths, ports, batch.count, batch.capacity)
        if count < 0:
            raise ValueError(f"a frame to send is longer than a row of {stride} bytes")
        batch.count = count

    def make_room(self, frames: int, size: int) -> None:
        """Let `frames` frames of `size` bytes together fit: close the gap in front, and grow when that is not
        enough."""
        state = self.struct
        first, last = state.first, state.last
        live = slice(first, last)
        begin = int(self._start[first]) if first < last else state.used
        data, start = self._data[begin : state.used].copy(), self._start[live] - begin
        length, port = self._length[live].copy(), self._port[live].copy()
        capacity, rows = state.capacity, state.rows
        while len(data) + size > capacity:
            capacity *= 2
        while len(port) + frames > rows:
            rows *= 2
        if (capacity, rows) != (state.capacity, state.rows):
            self._allocate(capacity, rows)
        count = len(port)
        self._data[: len(data)] = data
        self._start[:count], self._length[:count], self._port[:count] = start, length, port
        state.first, state.last, state.used = 0, count, len(data)

    def _allocate(self, capacity: int, rows: int) -> None:
        self._data = np.zeros(capacity, np.uint8)
        self._start, self._length, self._port = (np.zeros(rows, kind) for kind in (np.int64, np.int32, np.int32))
        arrays = (self._data, self._start, self._length, self._port)
        for name, array in zip(("data", "start", "length", "port"), arrays, strict=True):
            setattr(self.struct, name, array.ctypes.data)
        self.struct.capacity, self.struct.rows = capacity, rows


class QueuedFrames:
    """Comes before a program's reference class: its frames wait in a queue that C fills too."""

    _queue: FrameQueue
    receive_frame: Callable[[int, Buffer, int], None]

    def emit(self, port: int, frame: Buffer) -> None:
        self._queue.append(port, frame)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        while len(self._queue):
            yield self._queue.popleft()

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        self._queue.fill(batch)

    def feed(self, batch: FrameBatch, now: int, rows: Callable[..., int], *tables: int) -> int:
        """A batch through `rows` of the C core, which takes (*tables, queue, frames, ..., &asked); Python takes what it
        hands back. Returns how many frames stayed in C."""
        frames, stride, lengths, ports = batch.addresses
        asked = ctypes.c_int32(0)
        row, count, taken = 0, batch.count, 0
        while row < count:
            before = row
            row = rows(
                *tables, self._queue.pointer, frames, stride, lengths, ports, row, count, ctypes.addressof(asked)
            )  # fmt: skip
            taken += row - before
            if row >= count:
                break
            if asked.value:
                self.receive_frame(int(batch.ports[row]), batch.row(row), now)
                row += 1
            else:
                self._queue.make_room(count - row, stride * (count - row))
        return taken
