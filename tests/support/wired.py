"""Data planes and packet I/O on real interfaces: frames to tell apart, raw ends, a plane in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from switch_nodes.dataplane.packet_io import PacketIo
from switch_nodes.dataplane.sockets import open_port
from switch_nodes.events import PlaneStatistics
from tests.support.machines import Forwarder
from tests.support.planes import plane_of

Opener = Callable[..., PacketIo]
Pair = tuple[socket.socket, socket.socket]
BROADCAST = b"\xff" * 6
FOREIGN = bytes.fromhex("0200000000fe")
TIMEOUT_S = 5


def frame(number: int, size: int = 100, target: bytes = BROADCAST) -> bytes:
    head = target + bytes.fromhex("020000000001") + b"\x88\xb5" + number.to_bytes(4, "big")
    return head + bytes((number + i) & 0xFF for i in range(size - len(head)))


def number_of(data: bytes) -> int:
    return int.from_bytes(data[14:18], "big")


def raw(interface: str) -> socket.socket:
    """The far end: an ordinary raw socket of the test."""
    return open_port(interface, backpressure=False).socket


def take(end: socket.socket, count: int) -> list[bytes]:
    """`count` frames, or what came until the time was up."""
    frames: list[bytes] = []
    end.settimeout(TIMEOUT_S)
    while len(frames) < count:
        try:
            frames.append(end.recv(65536))
        except TimeoutError:
            break
    return frames


class Running:
    """A plane in a thread, until the block ends."""

    def __init__(self, machine: Forwarder, io: PacketIo, stop: socket.socket, **options: Any) -> None:
        self.plane = plane_of(
            machine,
            [],
            io=io,
            on_event=lambda *_: None,
            on_control=lambda: False,
            **({"backpressure": False} | options),
        )
        self.stop, self.result = stop, PlaneStatistics(*[0] * 15)
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self.result = self.plane.run(time.monotonic_ns())

    def __enter__(self) -> Running:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.send(b"stop")
        self.thread.join(TIMEOUT_S)
        assert not self.thread.is_alive()
