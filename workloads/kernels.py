"""What touches each byte of a payload, and reads and writes fields of frames: the NumPy bodies.

The compiled bodies are `kernels.h`, by way of `kernels.pxd`. These two are the only code that stands twice;
`tests/workloads/test_kernels.py` holds them equal. A module that is compiled imports from here `if not cython.compiled`
and its `.pxd` cimports the same names. A frame that is being made is a *draft*; `finished` makes it a frame. Offsets
and counts are in bytes of the frame and in elements; numbers on the wire are in network byte order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.machine import Buffer

__all__ = [
    "NEVER",
    "add_words",
    "bit_of",
    "copy_bytes",
    "dequantise",
    "finished",
    "get8",
    "get16",
    "get32",
    "new_draft",
    "put8",
    "put16",
    "put32",
    "quantise",
    "read_words",
    "words_sum",
    "write_words",
]

_MODULUS = 0xFFFF
NEVER = (1 << 63) - 1
"""time, in ns, of a timer that is not set"""


def new_draft(size: int) -> Any:
    """Room for a frame of `size` bytes, whatever is in them."""
    return bytearray(size)


def finished(draft: Any) -> bytes:
    """The frame; the draft is not written to any more."""
    return bytes(draft)


def copy_bytes(draft: Any, at: int, source: Buffer, start: int, size: int) -> None:
    draft[at : at + size] = source[start : start + size]


def bit_of(rank: int) -> int:
    """The rank's bit in a bitmap of up to 63 workers."""
    return 1 << rank


def get8(frame: Buffer, at: int) -> int:
    return frame[at]


def get16(frame: Buffer, at: int) -> int:
    return frame[at] << 8 | frame[at + 1]


def get32(frame: Buffer, at: int) -> int:
    return int.from_bytes(frame[at : at + 4], "big")


def put8(draft: Any, at: int, value: int) -> None:
    draft[at] = value & 0xFF


def put16(draft: Any, at: int, value: int) -> None:
    draft[at : at + 2] = value.to_bytes(2, "big")


def put32(draft: Any, at: int, value: int) -> None:
    draft[at : at + 4] = value.to_bytes(4, "big")


def words_sum(frame: Buffer, at: int, end: int) -> int:
    """Sum of the 16-bit words from `at` to `end` modulo 2^16 - 1 (RFC 1071). 2^16 is 1 there, so the bytes as one
    number have the same rest."""
    return int.from_bytes(frame[at:end], "big") * (256 if (end - at) % 2 else 1) % _MODULUS


def read_words(values: NDArray[np.int32], first: int, frame: Buffer, at: int, count: int) -> None:
    """`count` elements become those from values[first] on."""
    values[first : first + count] = np.frombuffer(frame, ">i4", count, at)


def add_words(values: NDArray[np.int32], first: int, frame: Buffer, at: int, count: int) -> None:
    """They are added; sums wrap."""
    total = values[first : first + count]
    np.add(total, np.frombuffer(frame, ">i4", count, at), out=total, casting="unsafe")


def write_words(draft: Any, at: int, values: NDArray[np.int32], first: int, count: int) -> None:
    draft[at : at + 4 * count] = values[first : first + count].astype(">i4").tobytes()


def quantise(draft: Any, at: int, values: NDArray[np.float32], first: int, count: int, scale: float) -> None:
    """Floats times `scale` in binary64, to nearest, ties to even."""
    scaled = values[first : first + count].astype(np.float64)
    scaled *= scale
    draft[at : at + 4 * count] = np.rint(scaled, out=scaled).astype(">i4").tobytes()


def dequantise(result: NDArray[np.float32], first: int, frame: Buffer, at: int, count: int, scale: float) -> None:
    """Integers divided by `scale` in binary64, rounded to binary32."""
    total = np.frombuffer(frame, ">i4", count, at).astype(np.float64)
    total /= scale
    with np.errstate(over="ignore"):
        result[first : first + count] = total.astype(np.float32)
