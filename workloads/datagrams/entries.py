"""How often each worker entered a sum, on the compiled path."""

from __future__ import annotations

__all__ = ["enter"]

_WORD, _BITS = 0xFFFF_FFFF, 32
"""part of a bitmap that is looked at as a number of the machine; its width"""


def enter(entered: list[int], bitmap: int) -> None:
    """Count one more for each rank in the bitmap."""
    rank = 0
    while bitmap:
        word, at = bitmap & _WORD, rank
        while word:
            if word & 1:
                entered[at] += 1
            word >>= 1
            at += 1
        bitmap >>= _BITS
        rank += _BITS
