"""Our sockets inside one network namespace, kept open for a run, so that later work needs no change of namespace."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from testbed.kernel.links import read_links
from testbed.kernel.namespaces import inside, namespace_inode
from testbed.kernel.queues import open_queues
from workloads.datagrams.transport import DATAGRAMS
from workloads.rc.transport import RELIABLE

__all__ = ["NamespaceSockets", "turn_ipv6_off"]

_SO_ATTACH_FILTER = 26
_BPF_RET_NOTHING = struct.pack("=HBBI", 0x06, 0, 0, 0)
"""classic BPF, one instruction: accept 0 bytes"""


class NamespaceSockets:
    """In the namespace of process `pid`, which exists. Raises OSError. Open sockets keep a namespace alive: close
    it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.inode = namespace_inode(pid)
        self._sinks: list[socket.socket] = []
        with inside(pid):
            turn_ipv6_off()
            self.netlink: Any = IPRoute(ext_ack=True)
            self.queues = open_queues()
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.index: dict[str, int] = {}

    def learn_indices(self) -> None:
        self.index = {link.name: link.index for link in read_links(self.netlink).values()}

    def absorb_datagrams(self, ports: Collection[int]) -> None:
        """Keep the kernel's own stack from answering frames that a program reads by AF_PACKET. It would answer with
        ICMP port unreachable, and sends only so many of these per second of real time. Each of their UDP
        ports, `ports` or else those of the built-in transports, gets a socket that is there and takes
        nothing. Raises OSError."""
        code = ctypes.create_string_buffer(_BPF_RET_NOTHING)
        for port in ports or (RELIABLE.udp_port, DATAGRAMS.udp_port):
            with inside(self.pid):
                sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._sinks.append(sink)
            sink.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(code)))
            sink.bind(("", port))

    def close(self) -> None:
        self.netlink.close()
        self.queues.close()
        self.socket.close()
        for sink in self._sinks:
            sink.close()


def turn_ipv6_off() -> None:
    """Of the calling thread's namespace. Else each interface says hello (neighbour discovery, MLD) on links whose
    frames we count."""
    for name in ("all", "default"):
        switch = Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
        if switch.exists():
            switch.write_text("1", encoding="ascii")
