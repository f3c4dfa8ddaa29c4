"""Where memory lies, for compiled code."""

from __future__ import annotations

import ctypes

import numpy as np

__all__ = ["address_of"]

_at, _byte = ctypes.addressof, ctypes.c_char


def address_of(view: memoryview | bytearray | bytes) -> int:
    """Address of contiguous bytes that may be read-only; it stays the same as long as they are there."""
    if type(view) is not bytes:
        try:
            return _at(_byte.from_buffer(view))
        except (TypeError, ValueError):  # read-only, or nothing at all
            pass
    return int(np.frombuffer(view, np.uint8).__array_interface__["data"][0])
