"""Socket buffers of an Open vSwitch. It never sets them. The default of the kernel holds some ninety frames for all its
ports together, far less than the queues of its links. What waits in a queue counts against the socket that sent it.
"""

from __future__ import annotations

import ctypes
import os
import socket
from pathlib import Path

from testbed.kernel.processes import ProcessId, is_alive

__all__ = ["widen_packet_sockets"]

_SYS_PIDFD_GETFD = 438
"""the same number on all architectures (include/uapi/asm-generic/unistd.h)"""
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
"""include/uapi/asm-generic/socket.h"""
_libc = ctypes.CDLL(None, use_errno=True)


def widen_packet_sockets(process: ProcessId, size: int) -> int:
    """Gives every AF_PACKET socket of the process send and receive buffers of `size` bytes (the kernel doubles it);
    returns how many there are. Raises OSError when that is not allowed."""
    pidfd = os.pidfd_open(process.pid)
    try:
        found = 0
        if not is_alive(process):
            return found
        for entry in Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                is_socket = os.readlink(entry).startswith("socket:")
            except FileNotFoundError:
                continue
            if is_socket:
                found += _widen(pidfd, int(entry.name), size)
        return found
    finally:
        os.close(pidfd)


def _widen(pidfd: int, number: int, size: int) -> bool:
    """Whether it is an AF_PACKET socket."""
    handle = _libc.syscall(_SYS_PIDFD_GETFD, pidfd, number, 0)
    if handle < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "pidfd_getfd")
    with socket.socket(fileno=handle) as copy:
        if copy.family != socket.AF_PACKET:
            return False
        copy.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, size)
        copy.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, size)
        return True
