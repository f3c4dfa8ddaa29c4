"""Our ends of the guest's wires: unix datagram sockets, one Ethernet frame per datagram, as ports of a data plane."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path

from switch_nodes.dataplane.packet_io import IoCounters
from switch_nodes.dataplane.python_io import PythonIo
from switch_nodes.dataplane.sockets import PortSocket

__all__ = ["MTU", "WireIo", "Wires"]

MTU = 4200
"""MTU of the guest's interfaces; holds RDMA MTU 4096"""
_BUFFER_BYTES = 8 << 20


class Wires:
    """The sockets of all ports. They outlive cases. Each case has a data plane of its own on them."""

    def __init__(self, switch_ends: Sequence[Path]) -> None:
        """Binds them, so that QEMU finds a receiver."""
        self.ports: list[PortSocket] = []
        for path in switch_ends:
            end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                end.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
            end.bind(str(path))
            granted = end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
            self.ports.append(PortSocket(path.name, end, MTU, granted))

    @classmethod
    def over(cls, ports: Sequence[PortSocket]) -> Wires:
        """Of sockets that are open already; `close` closes them."""
        wires = cls(())
        wires.ports.extend(ports)
        return wires

    def connect(self, guest_ends: Sequence[Path]) -> None:
        """Once QEMU has bound its ends. From then on only frames of that end come in, and the kernel reports when it
        has room."""
        for port, path in zip(self.ports, guest_ends, strict=True):
            port.socket.connect(str(path))

    def drain(self) -> int:
        """Throw away what waits; how many frames that was."""
        count = 0
        for port in self.ports:
            with contextlib.suppress(BlockingIOError):
                while port.socket.recv(1 << 16):
                    count += 1
        return count

    def close(self) -> None:
        for port in self.ports:
            port.socket.close()


class WireIo(PythonIo):
    """PacketIo on wires. With backpressure always: a unix socket holds few datagrams (net.unix.max_dgram_qlen). A
    switch that drops where its receiver is busy would lose frames that no fault asked for."""

    def __init__(self, ports: Sequence[PortSocket], *, control: socket.socket | None = None) -> None:
        super().__init__(ports, backpressure=True, control=control)

    def counters(self) -> IoCounters:
        return self._counters

    def close(self) -> None:
        """The sockets are their owner's."""
