"""Packet sequence numbers: 24 bits, compared by signed distance (IBTA vol. 1, 9.7.1; spec of RC in `docs/roce.md`)."""

from __future__ import annotations

__all__ = ["PSN_MASK", "PSN_MODULUS", "psn_add", "psn_diff"]

PSN_MODULUS = 1 << 24
PSN_MASK = PSN_MODULUS - 1
_HALF = 1 << 23


def psn_add(psn: int, count: int) -> int:
    """`psn` moved by `count` (may be negative)."""
    return (psn + count) & PSN_MASK


def psn_diff(a: int, b: int) -> int:
    """Signed distance from b to a, in -2^23 .. 2^23-1: positive when a is ahead of b."""
    return ((a - b + _HALF) & PSN_MASK) - _HALF
