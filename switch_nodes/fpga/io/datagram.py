"""Registers over UDP or a unix datagram socket: the client, and the socket that an emulated card is served on."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from switch_nodes.fpga.datagrams import MAX_BYTES, Operation, RegisterServer, decode_answer, encode_request
from workloads.errors import ScenarioError

__all__ = ["DatagramTransport", "RegisterSocket", "connect_udp", "connect_unix", "listen_udp", "listen_unix"]

_TRIES = 5
_TIMEOUT_S = 0.2
_DATAGRAM = 2048


class DatagramTransport:
    """A `Transport` on a connected datagram socket, which it owns. What gets no answer is asked again, at most five
    times in all; the other side does nothing twice."""

    max_bytes = MAX_BYTES

    def __init__(self, connected: socket.socket, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._socket = connected
        self._timeout_s = timeout_s
        self._session = int.from_bytes(os.urandom(4), "big")
        self._sequence = 0

    def read(self, address: int, size: int) -> bytes:
        return self._ask(Operation.READ, address, size, b"")

    def write(self, address: int, data: bytes) -> None:
        self._ask(Operation.WRITE, address, len(data), data)

    def close(self) -> None:
        self._socket.close()

    def _ask(self, operation: Operation, address: int, size: int, data: bytes) -> bytes:
        self._sequence = self._sequence + 1 & 0xFFFFFFFF
        request = encode_request(operation, self._session, self._sequence, address, size, data)
        for _ in range(_TRIES):
            self._socket.send(request)
            deadline = time.monotonic() + self._timeout_s
            while (left := deadline - time.monotonic()) > 0:
                self._socket.settimeout(left)
                try:
                    found = decode_answer(self._socket.recv(_DATAGRAM), request)
                except TimeoutError:
                    break
                if found is not None:
                    return found
        raise TimeoutError(f"no answer to {_TRIES} requests in {_TRIES * self._timeout_s:g} s")


def connect_udp(host: str, port: int) -> DatagramTransport:
    """Raises OSError when the name does not resolve."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    return _connected(socket.socket(family, kind | socket.SOCK_CLOEXEC, protocol), address)


def connect_unix(path: Path) -> DatagramTransport:
    """Raises OSError without a listener there."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    client.bind("")  # an abstract address of the kernel's choice, for the answers
    return _connected(client, str(path))


def _connected(client: socket.socket, address: Any) -> DatagramTransport:
    try:
        client.connect(address)
    except BaseException:
        client.close()
        raise
    return DatagramTransport(client)


def listen_udp(host: str, port: int) -> socket.socket:
    """Loopback only: registers have no passwords. Raises ScenarioError, OSError."""
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise ScenarioError(
            "registers are served on loopback only", key="--listen", found=repr(host), allowed="127.0.0.1, ::1"
        )
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    server = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    return _bound(server, (host, port))


def listen_unix(path: Path) -> socket.socket:
    """Only for this user. A socket without a listener is replaced. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode) and not _anybody_there(path):
            path.unlink()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    before = os.umask(0o177)
    try:
        return _bound(server, str(path))
    finally:
        os.umask(before)


def _bound(server: socket.socket, address: Any) -> socket.socket:
    try:
        server.bind(address)
    except BaseException:
        server.close()
        raise
    return server


def _anybody_there(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True


class RegisterSocket:
    """Answers what comes in on a bound socket. `clock` gives the time of the card's Machine."""

    def __init__(self, listening: socket.socket, server: RegisterServer, clock: Callable[[], int]) -> None:
        self.socket = listening
        self._server, self._clock = server, clock

    def serve(self) -> bool:
        """All that is there now; the loop of the data plane goes on."""
        for request, peer in self._requests():
            answer = self._server.handle(request, self._clock())
            if answer is not None and peer:
                with contextlib.suppress(OSError):  # it is gone; its next request would come again
                    self.socket.sendto(answer, peer)
        return True

    def _requests(self) -> Iterator[tuple[bytes, Any]]:
        for _ in range(64):  # frames must not wait for ever
            try:
                yield self.socket.recvfrom(_DATAGRAM)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                continue  # an answer of before met a closed port
