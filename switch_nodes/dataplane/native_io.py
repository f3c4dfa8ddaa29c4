"""Packet I/O by `workloads/native/packet_io.c`."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections.abc import Callable, Sequence

import numpy as np

from switch_nodes.dataplane.packet_io import IoCounters, Rows
from switch_nodes.dataplane.sockets import PortSocket, frame_cost, row_stride, socket_drops
from workloads.machine import FrameBatch
from workloads.native.build import load_library
from workloads.native.layout import check_structure

__all__ = ["NativeIo", "native_library"]

_QUOTA = 128
_COUNTERS = ("frames_in", "bytes_in", "frames_out", "bytes_out", "queue_drops", "link_drops", "misfits")


class _Header(ctypes.Structure):
    """First part of `struct packet_io`."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in _COUNTERS),
        ("control_ready", ctypes.c_int32),
        ("refused", ctypes.c_int32),
    ]
    control_ready: int
    refused: int


def native_library() -> ctypes.CDLL | None:
    """The library with its signatures set, or None (`workloads.native.build.native_status` says why)."""
    library = load_library("packet_io")
    if library is None:
        return None
    pointer, i32, i64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
    signatures: dict[str, tuple[list[type[ctypes._SimpleCData[int]] | type[ctypes.c_void_p]], object]] = {
        "packet_io_new": ([pointer, pointer, i32, i32, i32, i32], pointer),
        "packet_io_free": ([pointer], None),
        "packet_rows_new": ([pointer, pointer, pointer, pointer, i32, i32], pointer),
        "packet_rows_free": ([pointer], None),
        "packet_io_fine_timers": ([], None),
        "packet_io_receive": ([pointer, pointer, i64, i64, i32], i32),
        "packet_io_room": ([pointer], i32),
        "packet_io_send": ([pointer, pointer, i32, i32], i32),
    }
    for name, (arguments, result) in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    check_structure(library, "packet_io", _Header)
    return library


class NativeIo:
    """`PacketIo` on recvmmsg and sendmmsg. `spin_ns`: the end of a sleep that is spent polling instead, for deadlines
    that must be met closer than the kernel wakes us."""

    def __init__(
        self,
        library: ctypes.CDLL,
        sockets: Sequence[PortSocket],
        *,
        backpressure: bool,
        control: socket.socket | None = None,
        spin_ns: int = 0,
    ) -> None:
        self._library, self._sockets, self._spin_ns = library, tuple(sockets), spin_ns
        mtu = max(port.mtu for port in sockets)
        self.ports, self.stride = len(self._sockets), row_stride(mtu)
        fds = np.array([port.socket.fileno() for port in sockets], np.int32)
        buffers = np.array([port.send_buffer for port in sockets], np.int32)
        self._io: int | None = library.packet_io_new(
            fds.ctypes.data,
            buffers.ctypes.data,
            self.ports,
            -1 if control is None else control.fileno(),
            int(backpressure),
            frame_cost(mtu + 14),
        )
        if not self._io:
            raise MemoryError
        self._header = _Header.from_address(self._io)
        self._receive: Callable[..., int] = library.packet_io_receive
        self._send: Callable[..., int] = library.packet_io_send
        self._room: Callable[..., int] = library.packet_io_room
        self._rows: list[Rows] = []
        self._socket_drops = 0
        library.packet_io_fine_timers()

    @property
    def control_ready(self) -> bool:
        return self._header.control_ready != 0

    @property
    def refused(self) -> int:
        return self._header.refused

    def attach(self, batch: FrameBatch) -> Rows:
        outcomes = np.zeros(batch.capacity, np.uint8)
        handle = self._library.packet_rows_new(
            batch.frames.ctypes.data,
            batch.lengths.ctypes.data,
            batch.ports.ctypes.data,
            outcomes.ctypes.data,
            batch.capacity,
            batch.stride,
        )
        if not handle:
            raise MemoryError
        rows = Rows(batch, outcomes, handle)
        self._rows.append(rows)
        return rows

    def receive(self, rows: Rows, timeout_ns: int) -> int:
        count = self._receive(self._io, rows.handle, timeout_ns, self._spin_ns, _QUOTA)
        if count < 0:
            raise OSError(-count, os.strerror(-count))
        rows.batch.count = count
        return count

    def room(self) -> int:
        return self._room(self._io)

    def send(self, rows: Rows, count: int, fresh: bool) -> int:
        waiting = self._send(self._io, rows.handle, count, fresh)
        if waiting < 0:
            raise ValueError(f"a frame to send has a port outside 0..{self.ports - 1} or an impossible length")
        return waiting

    def counters(self) -> IoCounters:
        self._socket_drops += sum(socket_drops(port.socket) for port in self._sockets)
        known = {name: getattr(self._header, name) for name in _COUNTERS}
        return IoCounters(**known, socket_drops=self._socket_drops)

    def close(self) -> None:
        for rows in self._rows:
            self._library.packet_rows_free(rows.handle)
        self._rows.clear()
        self._library.packet_io_free(self._io)
        self._io, self._header = None, _Header()
        self._receive = self._send = self._room = _closed
        for port in self._sockets:
            port.socket.close()


def _closed(*_: object) -> int:
    raise OSError(errno.EBADF, "the sockets are closed")
