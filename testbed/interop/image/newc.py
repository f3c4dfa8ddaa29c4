"""cpio archives of the kind that the kernel unpacks as initramfs
(Documentation/driver-api/early-userspace/buffer-format.rst, "newc")."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Entry", "device", "directory", "file", "newc_archive", "symlink"]

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class Entry:
    path: str
    """relative, without a leading slash"""
    mode: int
    """type and permissions, as st_mode"""
    data: bytes = b""
    major: int = 0
    """major number of a device node"""
    minor: int = 0


def file(path: str, data: bytes, permissions: int = 0o644) -> Entry:
    return Entry(path, stat.S_IFREG | permissions, data)


def directory(path: str, permissions: int = 0o755) -> Entry:
    return Entry(path, stat.S_IFDIR | permissions)


def symlink(path: str, target: str) -> Entry:
    return Entry(path, stat.S_IFLNK | 0o777, target.encode())


def device(path: str, major: int, minor: int, permissions: int = 0o600) -> Entry:
    """A character device."""
    return Entry(path, stat.S_IFCHR | permissions, b"", major, minor)


def newc_archive(entries: Iterable[Entry]) -> bytes:
    """The archive; the same bytes for the same entries (owner 0, time 0). Directories are made for entries that need
    them. Raises ValueError for an absolute path or one that appears twice."""
    parts: list[bytes] = []
    seen: dict[str, int] = {}
    for entry in entries:
        if entry.path.startswith("/") or ".." in entry.path.split("/"):
            raise ValueError(f"path {entry.path!r} leaves the archive")
        for parent in _parents(entry.path):
            if parent not in seen:
                seen[parent] = stat.S_IFDIR
                parts.append(_member(len(seen), directory(parent)))
        if entry.path in seen:
            if stat.S_ISDIR(entry.mode) and seen[entry.path] == stat.S_IFDIR:
                continue
            raise ValueError(f"path {entry.path!r} appears twice")
        seen[entry.path] = stat.S_IFMT(entry.mode)
        parts.append(_member(len(seen), entry))
    parts.append(_member(0, Entry(_TRAILER, 0)))
    return b"".join(parts)


def _parents(path: str) -> list[str]:
    words = path.split("/")
    return ["/".join(words[:count]) for count in range(1, len(words))]


def _member(inode: int, entry: Entry) -> bytes:
    name = entry.path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (inode, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, entry.major, entry.minor, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % value for value in fields)
    return _padded(header + name) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
