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
    "draw_words",
    "finished",
    "get8",
    "get16",
    "get32",
    "largest_exponents",
    "new_draft",
    "new_words",
    "put8",
    "put16",
    "put32",
    "quantise",
    "read_words",
    "shape_floats",
    "words_sum",
    "write_words",
]

_MODULUS = 0xFFFF
_CHUNK = 1 << 15  # words drawn at once: few compared with a gradient; even, since Philox gives word pairs
_STEP = 8  # words for each step of Philox's counter
_SIGN, _FRACTION, _MAGNITUDE = np.uint32(0x8000_0000), np.uint32(0x007F_FFFF), np.uint32(0x7FFF_FFFF)
_LOWEST_EXPONENT, _EXPONENT_SPAN = np.uint32(127 - 20), np.uint32(0x1F)  # magnitudes 2^-20 .. 2^12
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


def new_words(template: Any, count: int) -> Any:
    """Elements, all zero. `template`: an empty array of type code i, which makes it fast where it is compiled."""
    return np.zeros(count, np.int32)


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


def largest_exponents(found: Any, values: NDArray[np.float32], half: int) -> None:
    """The largest biased exponent of each `half` values, as many as `found` has. Missing values count as zeros."""
    bits: NDArray[np.uint32] = np.zeros(half * len(found), np.uint32)
    bits[: len(values)] = values.view(np.uint32) & _MAGNITUDE
    np.asarray(found)[:] = bits.reshape(len(found), half).max(axis=1) >> np.uint32(23)


def draw_words(words: NDArray[np.uint32], first: int, key0: int, key1: int) -> None:
    """Fill with random words: those from `first` on of the stream that Philox makes from the key."""
    draw = np.random.Philox(key=np.array([key0, key1], np.uint64))
    draw.advance(first // _STEP)
    passed = first % _STEP
    for start in range(-passed, len(words), _CHUNK):
        part = words[max(start, 0) : start + _CHUNK]
        skipped = max(0, -start)
        count = skipped + len(part)
        part[:] = draw.random_raw((count + 1) // 2).view(np.uint32)[skipped:count]


def shape_floats(words: NDArray[np.uint32]) -> None:
    """Turn random words into float32 bits in place; the exponent byte decides what kind of value it becomes."""
    kind = words >> np.uint32(23) & np.uint32(0xFF)
    exponent = (kind & _EXPONENT_SPAN) + _LOWEST_EXPONENT
    exponent[kind < 2] = 0  # subnormal
    words &= _SIGN | _FRACTION
    words |= exponent << np.uint32(23)
    words[(kind == 2) | (kind == 3)] = _SIGN
