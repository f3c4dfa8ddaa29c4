"""The CRC of the C core against zlib's, for every length that a frame may have, every alignment, any start."""

from __future__ import annotations

import ctypes
import random
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.support.native import needs_native, require_native
from workloads.native import build
from workloads.native.build import load_library

needs_c = needs_native("rc_fast")
SOURCE = '#include "crc.h"\nuint32_t crc_here(uint32_t c, const uint8_t *p, size_t n) { return ina_crc32(c, p, n); }\n'


@pytest.mark.parametrize("deflate", [True, False])
def test_crc_is_zlibs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deflate: bool) -> None:
    """With libdeflate where it is there, and without it in any case."""
    if not deflate:
        monkeypatch.setattr(build, "_DEFLATE_HEADERS", ())
    elif not build._further():
        pytest.skip("needs libdeflate (apt-get install libdeflate-dev)")
    source = tmp_path / "crc_here.c"
    source.write_text(SOURCE)
    library = require_native(f"crc_here_{deflate}", [source])
    linked = Path(library._name).read_bytes()
    assert (b"libdeflate_crc32" in linked, b"libdeflate.so" in linked) == (deflate, deflate)
    function = library.crc_here
    function.argtypes, function.restype = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint32
    draw = random.Random(1)
    data = draw.randbytes(9100)
    for size in [*range(1200), *range(1200, 9000, 37)]:
        at, start = draw.randrange(64), draw.choice((0, draw.randrange(1 << 32)))
        piece = data[at : at + size]
        assert function(start, piece, size) == zlib.crc32(piece, start), (size, start)


@needs_c
def test_the_checksum_of_the_core_is_zlibs() -> None:
    library = load_library("rc_fast")
    assert library is not None
    library.rc_crc32.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t]
    library.rc_crc32.restype = ctypes.c_uint32
    data = np.frombuffer(random.Random(1).randbytes(5000), np.uint8)
    raw = data.tobytes()
    for start in (0, 1, 7):
        for size in [*range(300), 1024, 1028, 4100]:
            state = zlib.crc32(raw[:start])
            wanted = zlib.crc32(raw[start : start + size], state)
            assert library.rc_crc32(state, data.ctypes.data + start, size) == wanted
