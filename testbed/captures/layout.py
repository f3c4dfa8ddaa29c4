"""Numbers of the pcapng format (IETF draft-ietf-opsawg-pcapng) that our writer and reader share."""

from __future__ import annotations

import struct

__all__ = [
    "EPB", "EPB_FLAGS", "EPB_HEAD", "IDB", "IF_NAME", "IF_TSRESOL", "MAGIC", "OPT_COMMENT", "OPT_END", "OUTBOUND",
    "SHB",
]  # fmt: skip

SHB, IDB, EPB = 0x0A0D0D0A, 1, 6
"""block types: section header, interface description, enhanced packet"""
MAGIC = 0x1A2B3C4D
"""byte order of a section"""
OPT_END, OPT_COMMENT, IF_NAME, IF_TSRESOL, EPB_FLAGS = 0, 1, 2, 9, 2
"""codes of options"""
OUTBOUND = 2
"""direction in the flags of a frame"""
EPB_HEAD = struct.Struct("<IIIIIII")
"""block type, total length, interface, time high, time low, captured length, original length"""
