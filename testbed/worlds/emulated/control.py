"""The control channel between the orchestrator and its node processes: JSON lines over a unix stream socket.

From a node: `{"control": "hello"}` (the kernel says who it is: SO_PEERCRED), `names` of its queue pairs where a device
chose them, `ready` with its backend, `done`. In between come records of the history. To a node: `names` of all such
nodes, `start` with the common origin, `tick` every now and then (send what you hold). Also `sample` (report what a
switch holds), `stop`, and `die` (a fault kills it). A path of a unix socket holds 107 bytes; `socket_path` makes any
folder reachable in less.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from switch_nodes.dataplane.clock import EmulatedClock
from testbed.history import make_record
from testbed.history.codec import encode, encode_record, error_fields
from workloads.errors import TestbedError
from workloads.events import QpFailed, TrainingProgress, WorkerFailed, WorkerFinished
from workloads.machine import Event

__all__ = [
    "SOCKET_NAME",
    "LineBuffer",
    "Message",
    "NodeChannel",
    "connect",
    "listen",
    "peer_pid",
]

Message: TypeAlias = dict[str, Any]
"""a JSON object: of the control of nodes, or a record of the history"""
SOCKET_NAME = "control.sock"
_SEND_BUFFER = 1 << 20
_FLUSH_BYTES = 32_768
_FLUSH_NS = 100_000_000
"""real time"""
_LAST_WORDS_S = 5.0
_URGENT = (WorkerFinished, WorkerFailed, QpFailed, TrainingProgress)
"""events for which somebody waits"""


class LineBuffer:
    """Bytes of a stream in, whole messages out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        """Raises ValueError on a line that is no JSON object."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        messages = [json.loads(line) for line in lines]
        if not all(isinstance(message, dict) for message in messages):
            raise ValueError("a control message is no JSON object")
        return messages


@contextmanager
def _reachable(folder: Path) -> Iterator[str]:
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET_NAME}"
    finally:
        os.close(handle)


def listen(folder: Path) -> socket.socket:
    """Raises OSError."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _reachable(folder) as path:
        server.bind(path)
    server.listen(128)
    server.setblocking(False)
    return server


def connect(folder: Path) -> socket.socket:
    """Raises OSError."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    with _reachable(folder) as path:
        client.connect(path)
    return client


def peer_pid(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])


class NodeChannel:
    """The node's side. Reporting an event costs an append. Events go out in batches and never block while the data
    plane runs: what the socket does not take now is kept for the next time."""

    def __init__(self, connection: socket.socket, node: str, clock: EmulatedClock | None = None) -> None:
        self.socket, self.node = connection, node
        self._clock = clock or EmulatedClock()
        self._flush_ns = self._clock.emulated(_FLUSH_NS)
        self.on_sample: Callable[[], Event | None] | None = None
        """asked for what the node holds whenever the orchestrator looks"""
        self.stopped = False
        self.origin_ns = 0
        self._held: list[tuple[int, Event]] = []
        self._bytes = bytearray()
        self._flushed_at = 0
        self._lines = LineBuffer()

    def hello(self) -> None:
        self._send_all(encode({"control": "hello", "node": self.node}))

    def ready(self, backend: str) -> None:
        self._send_all(encode({"control": "ready", "backend": backend}))

    def refuse(self, error: TestbedError) -> None:
        self.socket.settimeout(_LAST_WORDS_S)
        self._send_all(encode({"control": "refused", "error": error_fields(error)}))

    def exchange_names(self, own: Message) -> dict[str, Message] | None:
        """Tell what a device chose for this node, and block until the names of all such nodes come (by node); None when
        we are to stop."""
        self._send_all(encode({"control": "names", "names": own}))
        while True:
            data = self.socket.recv(65_536)
            if not data:
                return None
            for message in self._lines.feed(data):
                if message["control"] == "names":
                    return dict(message["names"])
                if message["control"] == "stop":
                    return None

    def await_start(self) -> int | None:
        """Blocks until the barrier falls; returns the origin, or None when we are to stop."""
        while True:
            data = self.socket.recv(65_536)
            if not data:
                return None
            for message in self._lines.feed(data):
                if message["control"] == "start":
                    self.origin_ns = int(message["origin_ns"])
                    self.socket.setblocking(False)
                    return self.origin_ns
                if message["control"] == "stop":
                    return None

    def on_event(self, now: int, event: Event) -> None:
        """`now` in emulated ns since the start of the traffic."""
        self._held.append((now, event))
        if now - self._flushed_at >= self._flush_ns or isinstance(event, _URGENT):
            self.flush()

    def on_control(self) -> bool:
        """Called when the socket is readable; False: the node is to stop."""
        try:
            data = self.socket.recv(65_536)
        except BlockingIOError:
            return not self.stopped
        if not data:
            self.stopped = True
        for message in self._lines.feed(data):
            if message["control"] == "stop":
                self.stopped = True
            elif message["control"] == "die":
                self._die()
            elif message["control"] == "sample":
                self._tell_sample()
        self.flush()
        return not self.stopped

    def _tell_sample(self) -> None:
        event = None if self.on_sample is None else self.on_sample()
        if event is not None:
            self.on_event(self._clock.since(self.origin_ns), event)

    def flush(self) -> None:
        self._encode_held()
        self._flushed_at = self._clock.since(self.origin_ns)
        try:
            while self._bytes:
                del self._bytes[: self.socket.send(self._bytes[:_FLUSH_BYTES])]
        except BlockingIOError:
            pass

    def done(self) -> None:
        """Sends everything held, then the last message."""
        self._encode_held()
        self._bytes += encode({"control": "done"})
        self.drain()

    def _die(self) -> None:
        """A fault kills this node. The kill takes its state, but not the history of what it did before."""
        self.drain()
        os.kill(os.getpid(), signal.SIGKILL)

    def drain(self) -> None:
        """Sends everything held, and waits for room. Gives up after a while when the other end does not read."""
        self._encode_held()
        deadline = time.monotonic() + _LAST_WORDS_S
        self.socket.setblocking(False)
        poller = select.poll()
        poller.register(self.socket, select.POLLOUT)
        while self._bytes and time.monotonic() < deadline:
            poller.poll(100)
            self.flush()

    def _encode_held(self) -> None:
        for t, event in self._held:
            self._bytes += encode_record(make_record(t, self.node, event))
        self._held.clear()

    def _send_all(self, data: bytes) -> None:
        self.socket.sendall(data)
