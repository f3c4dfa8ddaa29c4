"""Driving a program by its batch verbs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding.frame_queue import switch_library
from switch_nodes.netreduce.fast import FastNetReduceProgram
from workloads.machine import BatchMachine, Buffer, FrameBatch

__all__ = ["BatchDriven", "fast_netreduce"]


class BatchDriven:
    """A Machine whose per-frame verbs use the batch verbs of another, a row at a time; everything else is the
    other's."""

    def __init__(self, program: BatchMachine, stride: int = 4600) -> None:
        self.inner = program
        self._in, self._out = FrameBatch.of(1, stride), FrameBatch.of(3, stride)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._in.count = 0
        self._in.append(port, frame)
        self.inner.receive_batch(self._in, now)
        self._in.frames[:] = 0xEE  # whatever is kept must be a copy

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        while True:
            self._out.count = 0
            self.inner.fill_batch(self._out, now)
            if not self._out.count:
                return
            for row in range(self._out.count):
                yield int(self._out.ports[row]), bytes(self._out.row(row))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def fast_netreduce(config: SwitchConfig) -> Any:
    """The NetReduce program, by its batch verbs."""
    library = switch_library()
    assert library is not None
    return BatchDriven(FastNetReduceProgram(config, library))
