"""The contract between the loop and what moves frames: sockets driven from C, from Python, or a fake."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workloads.machine import FrameBatch

__all__ = ["IoCounters", "PacketIo", "Rows", "SendOutcome"]


class SendOutcome(IntEnum):
    """What became of a row that was to be sent; the numbers are those of `packet_io.c`."""

    WAITING = 0
    SENT = 1
    QUEUE = 2
    """refused by the queue of a port without backpressure"""
    LINK = 3
    """the interface was down or gone"""
    MISFIT = 4
    """longer than the MTU, or no Ethernet header"""


@dataclass(slots=True)
class IoCounters:
    """Since the sockets were opened."""

    frames_in: int = 0
    bytes_in: int = 0
    frames_out: int = 0
    bytes_out: int = 0
    queue_drops: int = 0
    link_drops: int = 0
    misfits: int = 0
    """frames that came in longer than a row (offloads are on?), or that were to be sent but are longer than the MTU or
    shorter than an Ethernet header"""
    socket_drops: int = 0
    """PACKET_STATISTICS tp_drops: frames that came in faster than we took them"""


@dataclass(slots=True)
class Rows:
    """A batch that an I/O has prepared for its calls."""

    batch: FrameBatch
    outcomes: NDArray[np.uint8]
    """shape (capacity,), of the last send: values of `SendOutcome`"""
    handle: int = 0


class PacketIo(Protocol):
    """Frames to and from ports 0 .. ports-1."""

    ports: int
    stride: int
    """bytes that a row needs to hold every frame of these interfaces"""

    @property
    def control_ready(self) -> bool:
        """The control socket had something to read when the last `receive` returned."""
        ...

    @property
    def refused(self) -> int:
        """Rows that the last `send` lost; `Rows.outcomes` has which and why."""
        ...

    def attach(self, batch: FrameBatch) -> Rows:
        """Prepare a batch; its arrays must stay where they are."""
        ...

    def receive(self, rows: Rows, timeout_ns: int) -> int:
        """Sleep until a frame, the control socket, room that a blocked port waits for, or the timeout (< 0: no limit).
        Received frames stand in rows 0 .. n-1, those of one port side by side; n is returned and is the new
        `rows.batch.count`."""
        ...

    def room(self) -> int:
        """How many frames of full size can be sent on every port now. 0: the next `receive` returns when there is
        room."""
        ...

    def send(self, rows: Rows, count: int, fresh: bool) -> int:
        """Send rows 0 .. count-1, per port in order; without `fresh` only those that are still waiting. Returns how
        many wait now (0 without backpressure). Raises ValueError for a row whose port or length cannot be."""
        ...

    def counters(self) -> IoCounters: ...

    def close(self) -> None: ...
