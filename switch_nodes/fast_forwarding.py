"""The plain switch with a compiled fast path for frames between static entries (groups for IPv4); Python takes the others."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.frame_queue import FrameQueue, StaticMacs, switch_library
from workloads.machine import Buffer, FrameBatch

__all__ = ["FastForwardProgram", "create_forward"]


class FastForwardProgram(ForwardProgram):
    """Emits the same frames in the same order as `ForwardProgram`."""

    def __init__(self, config: SwitchConfig, library: ctypes.CDLL) -> None:
        super().__init__(config)
        self._queue = FrameQueue(library)
        self._static = StaticMacs(self.macs.static, self.macs.groups, self.macs.salt)
        self._rows, self._asked = library.forward_rows, ctypes.c_int32(0)
        self._asked_pointer = ctypes.addressof(self._asked)

    @property
    def compiled(self) -> tuple[int, int]:
        """Addresses of the queue and of the static entries, for a compiled loop that calls `forward_rows` itself."""
        return self._queue.pointer, self._static.pointer

    def catch_up(self, forwarded: int, room: int) -> None:
        """Behind a compiled loop, which forwarded so many frames and wants room for one of `room` bytes (0: for none)."""
        if forwarded:
            self.count("forwarded", forwarded)
        if room:
            self._queue.make_room(1, room)

    def emit(self, port: int, frame: Buffer) -> None:
        self._queue.append(port, frame)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        while len(self._queue):
            yield self._queue.popleft()

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        frames, stride, lengths, ports = batch.addresses
        row, count = 0, batch.count
        while row < count:
            before = row
            row = self._rows(
                self._static.pointer,
                self._queue.pointer,
                frames,
                stride,
                lengths,
                ports,
                row,
                count,
                self._asked_pointer,
            )
            if row > before:
                self.count("forwarded", row - before)
            if row >= count:
                break
            if self._asked.value:
                self.receive_frame(int(batch.ports[row]), batch.row(row), now)
                row += 1
            else:
                self._queue.make_room(count - row, stride * (count - row))

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        self._queue.fill(batch)


def create_forward(config: SwitchConfig) -> ForwardProgram:
    """With the fast path where it can be built."""
    library = switch_library()
    return ForwardProgram(config) if library is None else FastForwardProgram(config, library)
