"""A rank's side of the socket: it posts collectives, waits for sums, and hears why there will be none."""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from workloads.ranks.room import Room
from workloads.ranks.wire import (
    VERSION,
    Agreed,
    Destroy,
    Done,
    Failed,
    Group,
    Join,
    Leave,
    LineReader,
    Message,
    Post,
    Step,
    Welcome,
    WireProblem,
)
from workloads.ranks.wire import encode as encode_message
from workloads.trusted import trusted_users

__all__ = ["SOCKET_VARIABLE", "NetworkFailed", "RankClient", "default_socket", "untrusted_peer"]

SOCKET_VARIABLE = "INA_SOCKET"
_JOIN_S = 60.0
_CREDENTIALS = struct.Struct("iII")
"""pid, user, group (unix(7), SO_PEERCRED)"""
_WELCOME_BYTES = 1 << 16


class NetworkFailed(RuntimeError):
    """The network sums nothing any more; the text says why."""


def untrusted_peer(connection: socket.socket) -> str | None:
    """Who listens at the other end of a unix socket, where that is a user who could not change our code either."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user = _CREDENTIALS.unpack(credentials)[1]
    return None if user in trusted_users() else str(user)


def default_socket() -> str:
    """Default socket on which this user's `tb up` listens."""
    return f"/tmp/ina-{os.environ.get('SUDO_UID') or os.getuid()}/ranks.sock"


@dataclass(slots=True)
class _Sum:
    offset: int
    take: Callable[[memoryview, Done], None]
    """(bytes of the result, what was said about it)"""
    refuse: Callable[[str], None]
    bytes: int


@dataclass(slots=True)
class _Question:
    """Whether the other ranks post the same."""

    agreed: Callable[[Agreed], None]
    refuse: Callable[[str], None]


class RankClient:
    """Connects at once. Its methods may be called from any thread. It calls their callbacks from a thread of its own,
    and a callback must not wait for the network there. A callback that raises fails its own collective alone.

    Raises NetworkFailed when no process listens at `path`, or when the network does not want this rank.
    """

    def __init__(self, path: str, rank: int, size: int) -> None:
        self._rank = rank
        self._socket, self._lines = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), LineReader()
        try:
            self._socket.settimeout(_JOIN_S)
            self._socket.connect(path)
            if (stranger := untrusted_peer(self._socket)) is not None:
                raise NetworkFailed(f"the network at {path} is of user {stranger}, who could give out any sum")
            self._socket.sendall(encode_message(Join(VERSION, rank, size, os.getpid())))
            self.welcome, memory, more = self._await_welcome()
        except (OSError, WireProblem) as error:
            self._socket.close()
            raise NetworkFailed(
                f"no network at {path}: {error}; `tb up SCENARIO` makes one, `tb train SCENARIO -- COMMAND` both it "
                "and the ranks"
            ) from error
        except NetworkFailed:
            self._socket.close()
            raise
        self._socket.settimeout(None)
        self._memory = memoryview(mmap.mmap(memory, 2 * self.welcome.memory_bytes))
        os.close(memory)
        self._room = Room(self.welcome.memory_bytes)
        self._changed = threading.Condition()
        self._pending: dict[int, _Sum | _Question] = {}
        self._next = 0
        self.failure: str | None = None
        """why nothing will be summed any more"""
        self._left = False
        self.heard_at = time.monotonic()
        self._reader = threading.Thread(target=self._read, args=(more,), name="ina network", daemon=True)
        self._reader.start()

    def post_sum(
        self,
        fill: Callable[[memoryview], None],
        elements: int,
        op: str,
        take: Callable[[memoryview, int], None],
        refuse: Callable[[str], None],
        **more: Any,
    ) -> None:
        """A float32 all-reduce in the network. `fill` writes the gradient's bytes; then either `take` or `refuse` is
        called, once. `more`: fields of its Post. Blocks only while the memory is full of gradients on their way. Raises
        NetworkFailed, and what `fill` raises."""

        def taken(memory: memoryview, done: Done) -> None:
            take(memory, done.network_ns)

        def post(number: int, offset: int) -> Post:
            return Post(number, "all_reduce", "float32", op, elements, True, offset, **more)

        self.post_data(post, fill, 4 * elements, taken, refuse)

    def post_data(
        self,
        post: Callable[[int, int], Post],
        fill: Callable[[memoryview], None],
        size: int,
        take: Callable[[memoryview, Done], None],
        refuse: Callable[[str], None],
    ) -> None:
        """A collective in the network, of `size` bytes of this rank. `post`: (number, place in the memory) -> what it
        says. As `post_sum`."""
        with self._changed:
            offset = self._await_room(size, post(0, 0).what)
            try:
                fill(self._memory[offset : offset + size])
            except BaseException:
                self._room.give_back(offset)
                raise
            self._post(post(self._next, offset), _Sum(offset, take, refuse, size))

    def announce(
        self,
        what: str,
        dtype: str = "",
        op: str = "",
        elements: int = -1,
        *,
        agreed: Callable[[Agreed], None] | None = None,
        refuse: Callable[[str], None] | None = None,
        **more: Any,
    ) -> None:
        """A collective that the ranks do among themselves. Either `agreed` or `refuse` is called, once. `more`: fields
        of its Post. Raises NetworkFailed."""
        with self._changed:
            self.check()
            post = Post(self._next, what, dtype, op, elements, False, 0, **more)
            self._post(post, None if agreed is None or refuse is None else _Question(agreed, refuse))

    def make_group(
        self,
        name: str,
        ranks: tuple[int, ...],
        timeout_s: float,
        agreed: Callable[[Agreed], None],
        refuse: Callable[[str], None],
    ) -> None:
        """Make a group of all these ranks, which must also make it. As `announce`."""
        with self._changed:
            self.check()
            self._post(Group(self._next, name, ranks, timeout_s), _Question(agreed, refuse))

    def destroy_group(self, group: str, agreed: Callable[[Agreed], None], refuse: Callable[[str], None]) -> None:
        """Nothing more comes from this rank in that group. `agreed`: nor from any other. As `announce`."""
        with self._changed:
            self.check()
            self._post(Destroy(self._next, group), _Question(agreed, refuse))

    def step(self, number: int) -> None:
        """The optimizer stepped, so often so far."""
        with self._changed:
            if self.failure is None and not self._left:
                self._send(Step(number))

    def leave(self, error: str = "", *, linger: bool = False) -> None:
        """Nothing more comes from this rank. Waits for what is on its way unless `error` ended the program. `linger`:
        also until all other ranks have left, or failed."""
        with self._changed:
            if self._left:
                return
            while self._pending and not error and self.failure is None:
                self._changed.wait()
            self._left = True
            self._send(Leave(error))
        if linger and not error:
            self._reader.join()
        with contextlib.suppress(OSError):  # the network went first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def check(self) -> None:
        """Raises NetworkFailed when nothing will be summed any more."""
        if self.failure is not None:
            raise NetworkFailed(self.failure)
        if self._left:
            raise NetworkFailed("this rank has left the network")

    def _await_room(self, size: int, what: str) -> int:
        while True:
            self.check()
            try:
                offset = self._room.take(size)
            except ValueError as error:
                raise NetworkFailed(
                    f"{_named(what)} of {size} bytes is more than the memory of a rank ({self._room.size} bytes): "
                    "give --memory to tb, or make smaller buckets"
                ) from error
            if offset is not None:
                return offset
            self._changed.wait()

    def _post(self, message: Post | Group | Destroy, pending: _Sum | _Question | None) -> None:
        if pending is not None:
            self._pending[message.number] = pending
        self._next += 1
        self._send(message)
        self.check()

    def _send(self, message: Message) -> None:
        try:
            self._socket.sendall(encode_message(message))
        except OSError as error:
            self._fail(f"the network went away: {error}")

    def _await_welcome(self) -> tuple[Welcome, int, list[Message]]:
        """What it says, the rank's memory, and what came with it."""
        handles: list[int] = []
        while True:
            data, found, _, _ = socket.recv_fds(self._socket, _WELCOME_BYTES, 1)
            handles += found
            if not data:
                raise OSError("it closed the connection")
            messages = self._lines.feed(data)
            if not messages:
                continue
            first = messages[0]
            if isinstance(first, Failed):
                raise NetworkFailed(first.reason)
            if not isinstance(first, Welcome) or len(handles) != 1:
                raise OSError("it answered something else than a welcome")
            return first, handles[0], messages[1:]

    def _read(self, messages: list[Message]) -> None:
        while True:
            try:
                for message in messages:
                    self._hear(message)
                data = self._socket.recv(1 << 16)
                messages = self._lines.feed(data)
                reason = "it closed the connection"
            except (OSError, WireProblem) as error:
                data, reason = b"", str(error)
            except BaseException as error:
                # Whatever the error is, no thread may wait for a reader that has ended.
                data, reason = b"", f"the reader of rank {self._rank} ended: {_text(error)}"
            if not data:
                with self._changed:
                    if not self._left:
                        self._fail(f"the network went away: {reason}")
                return

    def _hear(self, message: Message) -> None:
        self.heard_at = time.monotonic()
        match message:
            case Failed(reason):
                with self._changed:
                    self._fail(reason)
            case Done(number):
                pending = self._pending.get(number)
                if isinstance(pending, _Sum):
                    start = self.welcome.memory_bytes + pending.offset
                    total = self._memory[start : start + pending.bytes]
                    self._call(partial(pending.take, total, message), pending)
                    self._settle(number, pending.offset)
            case Agreed(number):
                pending = self._pending.get(number)
                if isinstance(pending, _Question):
                    self._call(partial(pending.agreed, message), pending)
                    self._settle(number, None)

    def _call(self, callback: Callable[[], None], pending: _Sum | _Question) -> None:
        """What it raises fails that collective. Raises what `refuse` raises."""
        try:
            callback()
        except BaseException as error:
            pending.refuse(f"rank {self._rank} could not use what came back: {_text(error)}")

    def _settle(self, number: int, offset: int | None) -> None:
        with self._changed:
            if self._pending.pop(number, None) is not None and offset is not None:
                self._room.give_back(offset)
            self._changed.notify_all()

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            for pending in self._pending.values():
                with contextlib.suppress(Exception):  # the others hear it all the same
                    pending.refuse(reason)
            self._pending.clear()
            self._changed.notify_all()


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _named(what: str) -> str:
    return f"{'an' if what[0] == 'a' else 'a'} {what.replace('_', '-')}"
