"""Network namespaces: enter one, make a throw-away one, look for one by its inode."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = [
    "PrivateNetwork",
    "enter",
    "inside",
    "inside_path",
    "namespace_inode",
    "processes_inside",
    "unshare_network",
]

_CLONE_NEWNET = 0x40000000
"""include/uapi/linux/sched.h"""
_OWN = "/proc/thread-self/ns/net"
_libc = ctypes.CDLL(None, use_errno=True)


def _setns(handle: int) -> None:
    if _libc.setns(handle, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "setns")


def enter(pid: int) -> None:
    """The calling thread moves into the network namespace of process `pid`. Raises OSError."""
    handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _setns(handle)
    finally:
        os.close(handle)


@contextmanager
def inside(pid: int) -> Iterator[None]:
    """The calling thread is in the network namespace of process `pid` meanwhile. Sockets opened there stay there."""
    home = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(pid)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(home)


@contextmanager
def inside_path(path: Path) -> Iterator[None]:
    """As `inside`, for a namespace that a file stands for: `/proc/PID/ns/net`, or what `ip netns` made. Raises
    OSError."""
    there = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        home = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _setns(there)
            try:
                yield
            finally:
                _setns(home)
        finally:
            os.close(home)
    finally:
        os.close(there)


def unshare_network() -> None:
    """The calling thread gets a new, empty network namespace. Raises OSError (PermissionError without
    CAP_SYS_ADMIN)."""
    if _libc.unshare(_CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "unshare")


def namespace_inode(pid: int | None = None) -> int:
    """Of process `pid`, or of the calling thread."""
    return os.stat(_OWN if pid is None else f"/proc/{pid}/ns/net").st_ino


def processes_inside(inodes: set[int]) -> dict[int, int]:
    """For each of these network namespaces in which a process lives: its inode and one such pid. Numbers of freed
    namespaces are used again by the kernel, so the caller checks what is inside before it believes."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                inode = os.stat(entry / "ns" / "net").st_ino
            except OSError:
                continue
            if inode in inodes:
                found.setdefault(inode, int(entry.name))
    return found


class PrivateNetwork:
    """A new network namespace, held by this object and by sockets that were opened in it. The calling thread is at home
    unless it is inside."""

    def __init__(self) -> None:
        """Raises OSError (PermissionError without CAP_SYS_ADMIN)."""
        self.home = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        """handle of the namespace where we came from"""
        try:
            unshare_network()
            self._handle = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
            self.inode = namespace_inode()
            _setns(self.home)
        except BaseException:
            os.close(self.home)
            raise

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The calling thread is in it meanwhile. Sockets opened and processes started there stay there."""
        _setns(self._handle)
        try:
            yield
        finally:
            _setns(self.home)

    def close(self) -> None:
        """It ends with the last socket and process inside."""
        os.close(self._handle)
        os.close(self.home)
