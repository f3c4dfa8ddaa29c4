"""Bitmaps as compiled code has them: `struct irn_bitmap`."""

from __future__ import annotations

import struct

__all__ = ["BITMAP_BYTES", "MOST_BITS", "give_bitmap", "taken_bitmap"]

MOST_BITS = 8192
BITMAP_BYTES = 8 + MOST_BITS // 8
_BITS = struct.Struct("=q")


def give_bitmap(memory: bytearray, at: int, bitmap: int) -> None:
    """Write one of at most `MOST_BITS`."""
    bits = bitmap.bit_length()
    _BITS.pack_into(memory, at, bits)
    if bits:
        size = _octets(bits)
        memory[at + 8 : at + 8 + size] = bitmap.to_bytes(size, "little")


def taken_bitmap(memory: bytearray, at: int) -> int:
    (bits,) = _BITS.unpack_from(memory, at)
    return int.from_bytes(memory[at + 8 : at + 8 + _octets(bits)], "little") if bits else 0


def _octets(bits: int) -> int:
    """In whole words."""
    return (bits + 63) // 64 * 8
