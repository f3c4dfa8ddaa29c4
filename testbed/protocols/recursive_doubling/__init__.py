"""Recursive doubling, the butterfly: pairs of hosts exchange whole gradients, log2 N times (docs/pairs.md)."""

from __future__ import annotations

from testbed.protocols.parts.scheduled import scheduled
from workloads.collectives.recursive_doubling import recursive_doubling
from workloads.lazily import later

__all__ = ["PROTOCOL"]


def _gradients(ranks: int) -> float:
    """Each step takes a gradient's time; where the ranks are no power of two, one folds in and one out."""
    steps = ranks.bit_length() - 1
    return steps + 2 * (ranks != 1 << steps)


PROTOCOL = scheduled(
    "recursive_doubling",
    "recursive doubling (butterfly): pairs exchange whole gradients",
    recursive_doubling,
    later("testbed.checkers.orders:in_pairs"),
    gradients=_gradients,
)
