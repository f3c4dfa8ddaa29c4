"""A program on the compiled path of the loop, frame by frame."""

from __future__ import annotations

from collections import deque

from switch_nodes.program import SwitchProgram
from workloads.machine import Buffer, Event
from workloads.quick import Quick

__all__ = ["Queued"]


class Queued(Quick):
    """A program without a timer. Its frames and events are taken from its queues."""

    def __init__(self, program: SwitchProgram, events: deque[Event], frames: deque[tuple[int, Buffer]]) -> None:
        Quick.__init__(self, events, frames)
        self._program = program

    def take(self, port: int, frame: bytes, now: int) -> None:
        self._program.receive_frame(port, frame, now)
