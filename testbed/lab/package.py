"""This package as one archive, named by its content: what `deploy` sends to hosts."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

__all__ = ["Package", "build_package"]

_TOP = Path(__file__).resolve().parents[2]
_FOLDERS = ("playbooks", "switch_nodes", "testbed", "topologies", "workloads")
_SUFFIXES = {".py", ".c", ".h", ".json", ".yaml", ".sh"}
_PINS = "requirements.txt"
_PINNED = ("numpy", "pydantic", "PyYAML")
"""what hosts need of it (`agent/install.py`)"""
_MTIME = 946_684_800
"""time of every file: 2000-01-01, so that the same content is the same archive"""
_building = threading.Lock()


@dataclass(frozen=True, slots=True)
class Package:
    version: str
    """the first 16 digits of the hash of all paths and contents"""
    archive: bytes
    """tar, gzip"""
    size: int
    """bytes when unpacked"""


def _sources() -> Iterator[Path]:
    for folder in _FOLDERS:
        for path in sorted((_TOP / folder).rglob("*")):
            if path.is_file() and path.suffix in _SUFFIXES and "__pycache__" not in path.parts:
                yield path


def _pins() -> bytes:
    """The checkout's, else the versions that we run with."""
    path = _TOP / _PINS
    if path.is_file():
        return path.read_bytes()
    return "".join(f"{name}=={version(name)}\n" for name in _PINNED).encode()


def content_version(contents: dict[str, bytes]) -> str:
    """By relative path."""
    whole = hashlib.sha256()
    for name, data in sorted(contents.items()):
        whole.update(f"{name}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    return whole.hexdigest()[:16]


def build_package() -> Package:
    """Built once, also where many threads ask at a time."""
    with _building:
        return _built()


@cache
def _built() -> Package:
    contents = {path.relative_to(_TOP).as_posix(): path.read_bytes() for path in _sources()} | {_PINS: _pins()}
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=3, mtime=_MTIME) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for name, data in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), _MTIME, 0o644
            archive.addfile(entry, io.BytesIO(data))
    return Package(content_version(contents), buffer.getvalue(), sum(map(len, contents.values())))
