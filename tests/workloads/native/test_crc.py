"""The CRC of the C core against zlib's, for every length that a frame may have, every alignment, any start."""

from __future__ import annotations

import ctypes
import random
import zlib
from pathlib import Path

from tests.support.native import require_native

SOURCE = '#include "crc.h"\nuint32_t crc_here(uint32_t c, const uint8_t *p, size_t n) { return ina_crc32(c, p, n); }\n'


def test_crc_is_zlibs(tmp_path: Path) -> None:
    source = tmp_path / "crc_here.c"
    source.write_text(SOURCE)
    library = require_native("crc_here", [source])
    function = library.crc_here
    function.argtypes, function.restype = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint32
    draw = random.Random(1)
    data = draw.randbytes(9100)
    for size in [*range(1200), *range(1200, 9000, 37)]:
        at, start = draw.randrange(64), draw.choice((0, draw.randrange(1 << 32)))
        piece = data[at : at + size]
        assert function(start, piece, size) == zlib.crc32(piece, start), (size, start)
