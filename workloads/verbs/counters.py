"""What a port counts, as the kernel shows it in sysfs (`hw_counters`)."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["read_counters"]

_MOST_BYTES = 64
_NO_COUNTER = "lifespan"
"""how often the kernel looks"""


def read_counters(folder: Path) -> dict[str, int]:
    """Name -> value; empty when there is no such folder. Every worker reads them twice, so this makes few system
    calls."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return {}
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return {name: _read(name, place) for name in names if name != _NO_COUNTER}
    finally:
        os.close(place)


def _read(name: str, place: int) -> int:
    handle = os.open(name, os.O_RDONLY, dir_fd=place)
    try:
        return int(os.read(handle, _MOST_BYTES))
    finally:
        os.close(handle)
