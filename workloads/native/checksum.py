"""CRC-32 (zlib's) of memory, by the C core where it runs."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from workloads.native.address import address_of
from workloads.native.build import load_library

__all__ = ["crc32"]


@cache
def _function() -> Callable[[int, int, int], int] | None:
    library = load_library("rc_fast")
    if library is None:
        return None
    function: Callable[[int, int, int], int] = library.rc_crc32
    library.rc_crc32.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t]
    library.rc_crc32.restype = ctypes.c_uint32
    return function


def crc32(data: memoryview | NDArray[np.uint8]) -> int:
    """The CRC of contiguous bytes."""
    function, view = _function(), data if isinstance(data, memoryview) else data.data
    return zlib.crc32(view) if function is None else function(0, address_of(view), view.nbytes)
