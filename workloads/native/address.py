"""Where memory lies, for compiled code."""

from __future__ import annotations

import ctypes
import sys

import numpy as np

__all__ = ["address_of"]

_at, _byte = ctypes.addressof, ctypes.c_char
_BYTES_AT = bytes.__basicsize__ - 1
"""where the bytes of a `bytes` object begin in it; CPython gives an object's address as its id"""
_HAS_ADDRESSES = sys.implementation.name == "cpython"


def address_of(view: memoryview | bytearray | bytes) -> int:
    """Address of contiguous bytes that may be read-only; it stays the same as long as they are there."""
    if type(view) is bytes:
        if _HAS_ADDRESSES:
            return id(view) + _BYTES_AT
    else:
        try:
            return _at(_byte.from_buffer(view))
        except (TypeError, ValueError):  # read-only, or nothing at all
            pass
    return int(np.frombuffer(view, np.uint8).__array_interface__["data"][0])
