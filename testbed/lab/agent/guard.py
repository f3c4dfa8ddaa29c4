"""Keeps a host's kernel from answering frames that are meant for an endpoint in user space. It opens sockets on their
UDP ports, of one interface, and never reads them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from contextlib import ExitStack

from testbed.lab.agent.facts import InterfaceFacts, interface_facts
from testbed.lab.agent.protocol import AgentRefused

__all__ = ["Guards"]

_SO_BINDTODEVICE = 25


class Guards:
    """Attached interfaces, each for a lease."""

    def __init__(self) -> None:
        self._sockets: dict[str, tuple[ExitStack, str]] = {}
        self._lock = threading.Lock()

    def attach(self, device: str, mtu: int, ports: Sequence[int], resource: str) -> InterfaceFacts:
        """MAC, addresses and MTU of an interface, once the kernel is kept from these UDP ports. Doing it again is
        harmless. Raises AgentRefused."""
        facts = interface_facts(device)
        if facts is None:
            raise AgentRefused(f"there is no interface {device}; there are: {', '.join(_names())}")
        if facts.mtu < mtu:
            raise AgentRefused(f"interface {device} has MTU {facts.mtu}, needed: {mtu}")
        if not facts.up:
            raise AgentRefused(f"interface {device} is down")
        with self._lock:
            if device not in self._sockets:
                with ExitStack() as guard:
                    for port in ports:
                        guard.enter_context(_guard(device, port))
                    self._sockets[device] = (guard.pop_all(), resource)
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


def _guard(device: str, port: int) -> socket.socket:
    """Raises AgentRefused."""
    guard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        guard.setsockopt(socket.SOL_SOCKET, _SO_BINDTODEVICE, device.encode() + b"\0")
        guard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
        guard.bind(("0.0.0.0", port))
    except OSError as error:
        guard.close()
        raise AgentRefused(f"interface {device}: UDP port {port}: {error.strerror}") from None
    return guard


def _names() -> list[str]:
    return sorted(name for _, name in socket.if_nameindex())
