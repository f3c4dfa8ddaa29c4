"""Keeps a host's kernel from answering RoCE frames that are meant for an endpoint in user space: a socket on UDP port
4791 of one interface that takes nothing."""

from __future__ import annotations

import socket
import threading

from testbed.lab.agent.facts import InterfaceFacts, interface_facts
from testbed.lab.agent.protocol import Refused

__all__ = ["Guards"]

_ROCE_PORT = 4791
_SO_BINDTODEVICE = 25


class Guards:
    """Attached interfaces, each for a lease."""

    def __init__(self) -> None:
        self._sockets: dict[str, tuple[socket.socket, str]] = {}
        self._lock = threading.Lock()

    def attach(self, device: str, mtu: int, resource: str) -> InterfaceFacts:
        """Says MAC, addresses and MTU. Doing it again is harmless. Raises Refused."""
        facts = interface_facts(device)
        if facts is None:
            raise Refused(f"there is no interface {device}; there are: {', '.join(_names())}")
        if facts.mtu < mtu:
            raise Refused(f"interface {device} has MTU {facts.mtu}, needed: {mtu}")
        if not facts.up:
            raise Refused(f"interface {device} is down")
        with self._lock:
            if device not in self._sockets:
                guard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
                try:
                    guard.setsockopt(socket.SOL_SOCKET, _SO_BINDTODEVICE, device.encode() + b"\0")
                    guard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
                    guard.bind(("0.0.0.0", _ROCE_PORT))
                except OSError as error:
                    guard.close()
                    raise Refused(f"interface {device}: UDP port {_ROCE_PORT}: {error.strerror}") from None
                self._sockets[device] = (guard, resource)
        return facts

    def detach(self, device: str) -> bool:
        """False when it was not attached."""
        with self._lock:
            guard, _ = self._sockets.pop(device, (None, ""))
        if guard is None:
            return False
        guard.close()
        return True

    def attached(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(sorted(self._sockets))

    def detach_lease(self, resource: str) -> list[str]:
        """Everything that was attached for this lease."""
        with self._lock:
            chosen = [device for device, (_, owner) in self._sockets.items() if owner == resource]
        return [device for device in chosen if self.detach(device)]


def _names() -> list[str]:
    return sorted(name for _, name in socket.if_nameindex())
