"""The agent: a unix socket that only its user can open, one thread per client, and the operations of `operations`."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import threading
from pathlib import Path

from testbed.lab.agent.operations import Operations
from testbed.lab.agent.protocol import AgentRefused, decode, encode, failure, lines, success
from testbed.lab.agent.requests import read_request
from workloads.codec import PLAIN

__all__ = ["AgentServer", "AlreadyRunning", "socket_path"]

_MAX_CLIENTS = 64
_SWEEP_S = 0.25
_MAX_PATH = 100
"""greatest length of the path of a unix socket, with room for what the kernel appends"""


class AlreadyRunning(Exception):
    """Another agent has this folder."""


def socket_path(base: Path) -> Path:
    return base / "agent.sock"


class AgentServer:
    def __init__(self, base: Path, operations: Operations) -> None:
        """Raises AlreadyRunning, OSError."""
        self._base, self._operations = base, operations
        self._clients = threading.BoundedSemaphore(_MAX_CLIENTS)
        self._stop = threading.Event()
        path = socket_path(base)
        if len(str(path)) > _MAX_PATH:
            raise OSError(f"{path} is too long for a socket")
        # The kernel lets go of it however we end; a socket file without a living agent means nothing.
        self._lock = os.open(base / "agent.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise AlreadyRunning(f"an agent runs in {base}") from None
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            self._socket.bind(str(path))
        finally:
            os.umask(before)
        self._socket.listen(16)
        self._socket.settimeout(_SWEEP_S)

    def stop(self) -> None:
        """From any thread, and from a signal's handler."""
        self._stop.set()

    def serve(self) -> None:
        """Until `stop`. Ends the processes of all runs before it returns."""
        try:
            while not self._stop.is_set() and not self._operations.quitting:
                self._operations.sweep()
                try:
                    connection, _ = self._socket.accept()
                except TimeoutError:
                    continue
                if not self._clients.acquire(blocking=False):
                    _refuse(connection)
                    continue
                threading.Thread(target=self._serve_client, args=(connection,), daemon=True).start()
        finally:
            self._socket.close()
            with contextlib.suppress(FileNotFoundError):
                socket_path(self._base).unlink()
            self._operations.close()
            os.close(self._lock)

    def _serve_client(self, connection: socket.socket) -> None:
        try:
            # What a client that went away asked for is done all the same: it finds the state when it comes back.
            with contextlib.suppress(OSError):
                connection.settimeout(3600)
                try:
                    for line in lines(connection):
                        connection.sendall(self._answer(line))
                except ValueError as error:  # nobody knows where the next message would begin
                    connection.sendall(encode(failure(f"not understood: {error}")))
        finally:
            connection.close()
            self._clients.release()

    def _answer(self, line: bytes) -> bytes:
        try:
            return encode(success(PLAIN.encode(self._operations.perform(read_request(decode(line))))))
        except AgentRefused as refusal:
            return encode(failure(refusal.problem, refusal.output))
        except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError) as error:
            return encode(failure(f"not understood: {type(error).__name__}: {error}"))
        except OSError as error:
            return encode(failure(f"the host refused: {error.strerror or error}"))


def _refuse(connection: socket.socket) -> None:
    """Its client reads the reason as the answer to its first request."""
    problem = (
        f"its agent serves {_MAX_CLIENTS} clients already, which is the most; end some of them, or ask again later"
    )
    with contextlib.suppress(OSError):
        connection.settimeout(1.0)
        connection.sendall(encode(failure(problem)))
    connection.close()


def heed_signals(server: AgentServer) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    # The connection that started us goes away.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
