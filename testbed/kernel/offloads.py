"""Offloads of an interface, by the SIOCETHTOOL ioctl (include/uapi/linux/ethtool.h).

With an AF_PACKET program in the path they must be off. Otherwise a sender's stack would hand us frames without checksum
or larger than the MTU, as if a card finished them.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

__all__ = ["OFFLOADS", "read_offloads", "turn_offloads_off"]

_SIOCETHTOOL = 0x8946
OFFLOADS: dict[str, tuple[int, int]] = {
    "tso": (0x1E, 0x1F),
    "gso": (0x23, 0x24),
    "gro": (0x2B, 0x2C),
    "tx": (0x16, 0x17),
    "rx": (0x14, 0x15),
}
"""name (as in `ethtool -K`) -> (ETHTOOL_G*, ETHTOOL_S*); segmentation first, since it leans on tx checksumming"""


def _value(sock: socket.socket, interface: str, command: int, data: int) -> int:
    value = ctypes.create_string_buffer(struct.pack("=II", command, data))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
    fcntl.ioctl(sock.fileno(), _SIOCETHTOOL, request)
    return int(struct.unpack_from("=II", value.raw)[1])


def turn_offloads_off(sock: socket.socket, interface: str) -> None:
    """`sock`: any socket of the namespace where the interface is. Raises OSError."""
    for _, setter in OFFLOADS.values():
        _value(sock, interface, setter, 0)


def read_offloads(sock: socket.socket, interface: str) -> dict[str, bool]:
    return {name: bool(_value(sock, interface, getter, 0)) for name, (getter, _) in OFFLOADS.items()}
