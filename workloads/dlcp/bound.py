"""How many packets of a flow must come."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["packets_needed"]


def packets_needed(packets: int, loss_bound: float) -> int:
    """ceil((1 - p) M), for p as it is written: 0.05 is exactly a twentieth, although a binary float is not."""
    kept = (1 - Fraction(repr(loss_bound))) * packets
    return -(-kept.numerator // kept.denominator)
