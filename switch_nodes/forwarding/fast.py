"""The plain switch with a compiled fast path for frames between static entries (groups for IPv4); Python takes the
others."""

from __future__ import annotations

import ctypes

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.forwarding.frame_queue import FrameQueue, QueuedFrames, StaticMacs, switch_library
from workloads.machine import FrameBatch

__all__ = ["FastForwardProgram", "create_forward"]


class FastForwardProgram(QueuedFrames, ForwardProgram):
    """Emits the same frames in the same order as `ForwardProgram`."""

    def __init__(self, config: SwitchConfig, library: ctypes.CDLL) -> None:
        super().__init__(config)
        self._queue = FrameQueue(library)
        self._static = StaticMacs(self.macs.static, self.macs.groups, self.macs.salt, self.macs.sprayed)
        self._rows = library.forward_rows

    quick = ForwardProgram.quick

    @property
    def compiled(self) -> tuple[int, int]:
        """Addresses of the queue and of the static entries, for a compiled loop that calls `forward_rows` itself."""
        return self._queue.pointer, self._static.pointer

    def catch_up(self, forwarded: int, room: int) -> None:
        """Behind a compiled loop, which forwarded so many frames and wants room for one of `room` bytes (0: for
        none)."""
        if forwarded:
            self.count("forwarded", forwarded)
        if room:
            self._queue.make_room(1, room)

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        forwarded = self.feed(batch, now, self._rows, self._static.pointer)
        if forwarded:
            self.count("forwarded", forwarded)


def create_forward(config: SwitchConfig) -> ForwardProgram:
    """With the fast path where it can be built."""
    library = switch_library()
    return ForwardProgram(config) if library is None else FastForwardProgram(config, library)
