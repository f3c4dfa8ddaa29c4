"""Mounts and host names of a process's own, by the system calls (mount(2), unshare(2), sethostname(2))."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

__all__ = ["bind", "make_private", "mount_proc", "mount_tmpfs", "unshare_host", "unshare_mounts", "unshare_processes"]

_NEWNS, _NEWUTS, _NEWIPC, _NEWPID, _NEWNET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
"""include/uapi/linux/sched.h"""
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
"""include/uapi/linux/mount.h"""
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare_host() -> None:
    """A network, mounts, a host name and System V objects of our own. Raises OSError."""
    _check(_libc.unshare(_NEWNS | _NEWUTS | _NEWIPC | _NEWNET), "unshare")


def unshare_mounts() -> None:
    """Raises OSError."""
    _check(_libc.unshare(_NEWNS), "unshare")


def unshare_processes() -> None:
    """The next child is process 1 of a pid namespace: when it ends, so does everything in there. Raises OSError."""
    _check(_libc.unshare(_NEWPID), "unshare")


def _mount(source: str, target: Path, kind: str, flags: int, data: str) -> None:
    _check(
        _libc.mount(source.encode(), os.fsencode(target), kind.encode() or None, flags, data.encode() or None),
        f"mount {target}",
    )


def make_private() -> None:
    """Nothing that we mount from now on is seen outside. Raises OSError."""
    _mount("none", Path("/"), "", _MS_REC | _MS_PRIVATE, "")


def mount_tmpfs(target: Path, size: int, mode: int = 0o755) -> None:
    """`size` in bytes. Raises OSError."""
    _mount("tmpfs", target, "tmpfs", 0, f"size={size},mode={mode:o}")


def mount_proc() -> None:
    """/proc of the pid namespace that we are in. Raises OSError."""
    _mount("proc", Path("/proc"), "proc", 0, "")


def bind(source: Path, target: Path) -> None:
    """`target` exists: a folder for a folder, a file for a file. Raises OSError."""
    _mount(str(source), target, "", _MS_BIND | _MS_REC, "")
