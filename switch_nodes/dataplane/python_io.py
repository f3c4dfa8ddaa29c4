"""Packet I/O without the C core: one system call per frame."""

from __future__ import annotations

import errno
import fcntl
import select
import socket
import struct
from collections.abc import Sequence
from enum import Enum, auto

import numpy as np

from switch_nodes.dataplane.packet_io import IoCounters, Rows, SendOutcome
from switch_nodes.dataplane.sockets import SIOCOUTQ, PortSocket, frame_cost, row_stride, socket_drops
from workloads.machine import FrameBatch

__all__ = ["PythonIo"]

_QUOTA = 64
_REFUSED_RETRY_S = 1e-3
_DOWN = (errno.ENETDOWN, errno.ENXIO, errno.ENODEV)


class _State(Enum):
    OPEN = auto()
    FULL = auto()
    """the socket buffer is full; the kernel reports when half of it is free"""
    REFUSED = auto()
    """the qdisc refused although the socket has room; the kernel does not report when to try again"""


class PythonIo:
    """`PacketIo` on socket.recv_into and socket.send."""

    def __init__(
        self, sockets: Sequence[PortSocket], *, backpressure: bool, control: socket.socket | None = None
    ) -> None:
        self._sockets, self._backpressure, self._control = tuple(sockets), backpressure, control
        mtu = max(port.mtu for port in sockets)
        self.ports, self.stride = len(self._sockets), row_stride(mtu)
        self._cost = frame_cost(mtu + 14)
        self._states = [_State.OPEN] * self.ports
        self._turn = 0
        self._counters = IoCounters()
        self.control_ready = False
        self.refused = 0

    def attach(self, batch: FrameBatch) -> Rows:
        return Rows(batch, np.zeros(batch.capacity, np.uint8))

    def receive(self, rows: Rows, timeout_ns: int) -> int:
        """As the contract; the resolution of the sleep is a microsecond plus the kernel's timer slack."""
        timeout = None if timeout_ns < 0 else timeout_ns / 1e9
        if _State.REFUSED in self._states:
            timeout = _REFUSED_RETRY_S if timeout is None else min(timeout, _REFUSED_RETRY_S)
        readers: list[socket.socket] = [port.socket for port in self._sockets]
        if self._control is not None:
            readers.append(self._control)
        full = [port.socket for port, state in zip(self._sockets, self._states, strict=True) if state is _State.FULL]
        readable, writable, _ = select.select(readers, full, (), timeout)
        self.control_ready = self._control is not None and self._control in readable
        ready = set(readable)
        for index, port in enumerate(self._sockets):
            if self._states[index] is _State.REFUSED or port.socket in writable:
                self._states[index] = _State.OPEN
        end, first = 0, self._turn
        for port_index in (*range(first, self.ports), *range(first)):
            if self._sockets[port_index].socket in ready and end < rows.batch.capacity:
                end = self._drain(rows.batch, port_index, end)
                if end == rows.batch.capacity:
                    self._turn = (port_index + 1) % self.ports
        rows.batch.count = end
        return end

    def _drain(self, batch: FrameBatch, port: int, at: int) -> int:
        end, receive, flat = at, self._sockets[port].socket.recv_into, batch.frames.data.cast("B")
        stride = batch.stride
        for _ in range(min(_QUOTA, batch.capacity - at)):
            try:
                # With MSG_TRUNC the length is that on the wire, so that a frame that did not fit is seen.
                length = receive(flat[end * stride : (end + 1) * stride], 0, socket.MSG_TRUNC)
            except OSError:  # nothing there, or the link went down, which this call has cleared
                break
            if length > stride:
                self._counters.misfits += 1
                continue
            batch.lengths[end], batch.ports[end] = length, port
            self._counters.frames_in += 1
            self._counters.bytes_in += length
            end += 1
        return end

    def room(self) -> int:
        least = 1 << 30
        for index, port in enumerate(self._sockets):
            if self._states[index] is not _State.OPEN:
                return 0
            queued = struct.unpack("i", fcntl.ioctl(port.socket, SIOCOUTQ, bytes(4)))[0]
            if queued >= port.send_buffer:
                self._states[index] = _State.FULL
                return 0
            least = min(least, -(-(port.send_buffer - queued) // self._cost))
        return least

    def send(self, rows: Rows, count: int, fresh: bool) -> int:
        outcomes, batch, waiting = rows.outcomes, rows.batch, 0
        if fresh:
            outcomes[:count] = SendOutcome.WAITING
        self.refused = 0
        ports, lengths = batch.ports[:count].tolist(), batch.lengths[:count].tolist()
        for port, length in zip(ports, lengths, strict=True):
            if not (0 <= port < self.ports and 0 <= length <= batch.stride):
                raise ValueError(f"a frame to send has a port outside 0..{self.ports - 1} or an impossible length")
        for row in range(count):
            if outcomes[row] != SendOutcome.WAITING:
                continue
            port = ports[row]
            if self._states[port] is _State.OPEN:
                outcomes[row] = self._send_one(port, batch.row(row))
            waiting += outcomes[row] == SendOutcome.WAITING
        return waiting

    def _send_one(self, port: int, frame: memoryview) -> SendOutcome:
        counters = self._counters
        try:
            self._sockets[port].socket.send(frame)
        except OSError as error:
            full = error.errno in (errno.EAGAIN, errno.ENOBUFS)
            if full and self._backpressure:
                self._states[port] = _State.FULL if error.errno == errno.EAGAIN else _State.REFUSED
                return SendOutcome.WAITING
            self.refused += 1
            if full:
                counters.queue_drops += 1
                return SendOutcome.QUEUE
            if error.errno in _DOWN:
                counters.link_drops += 1
                return SendOutcome.LINK
            counters.misfits += 1
            return SendOutcome.MISFIT
        counters.frames_out += 1
        counters.bytes_out += len(frame)
        return SendOutcome.SENT

    def counters(self) -> IoCounters:
        self._counters.socket_drops += sum(socket_drops(port.socket) for port in self._sockets)
        return self._counters

    def close(self) -> None:
        for port in self._sockets:
            port.socket.close()
