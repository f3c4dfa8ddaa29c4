"""CRC-32 (zlib's) of memory, by the C core where it runs."""

from __future__ import annotations

import ctypes
import zlib
from functools import cache

import numpy as np
from numpy.typing import NDArray

from workloads.native.build import load_library

__all__ = ["crc32"]


@cache
def _library() -> ctypes.CDLL | None:
    library = load_library("rc_fast")
    if library is not None:
        library.rc_crc32.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t]
        library.rc_crc32.restype = ctypes.c_uint32
    return library


def crc32(data: memoryview | NDArray[np.uint8]) -> int:
    """The CRC of contiguous bytes."""
    library, view = _library(), np.frombuffer(data, np.uint8)
    if library is None:
        return zlib.crc32(view.data)
    return int(library.rc_crc32(0, view.__array_interface__["data"][0], view.size))
