"""The CRC-32 of `crc.h` against zlib's, and its constants against their definition."""

from __future__ import annotations

import ctypes
import random
import re
import zlib
from pathlib import Path

import numpy as np

from tests.support.native import needs_native
from workloads.native.build import load_library

needs_c = needs_native("rc_fast")


@needs_c
def test_crc32_equals_zlib() -> None:
    library = load_library("rc_fast")
    assert library is not None
    library.rc_crc32.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t]
    library.rc_crc32.restype = ctypes.c_uint32
    data = np.frombuffer(random.Random(1).randbytes(5000), np.uint8)
    raw = data.tobytes()
    for start in (0, 1, 7):
        for size in [*range(300), 1024, 1028, 4100]:
            state = zlib.crc32(raw[:start])
            assert library.rc_crc32(state, data.ctypes.data + start, size) == zlib.crc32(
                raw[start : start + size], state
            )


def test_the_folding_constants_are_powers_of_x() -> None:
    text = (Path(__file__).resolve().parents[3] / "workloads" / "native" / "crc.h").read_text()
    found = {
        name: (int(high, 16), int(low, 16))
        for name, high, low in re.findall(r"(by_\d+) = _mm_set_epi64x\((0x\w+), (0x\w+)\)", text)
    }

    def power(n: int) -> int:
        """x^n mod P, bits reversed within 33."""
        value = 1
        for _ in range(n):
            value <<= 1
            if value >> 32:
                value ^= 0x104C11DB7
        return int(f"{value:033b}"[::-1], 2)

    assert found == {f"by_{n}": (power(n - 32), power(n + 32)) for n in (512, 128)}
