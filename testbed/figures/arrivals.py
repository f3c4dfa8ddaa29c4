"""What arrived at hosts between two looks at their links (`QueuesSampled`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

__all__ = ["arrived"]


def arrived(looks: Iterable[tuple[int, int]], edges_ns: Sequence[int]) -> list[float]:
    """Bits in each interval between `edges_ns`. `looks`: (ns, bits since the start), in order of time; what
    came between two of them came evenly."""
    bits = [0.0] * (len(edges_ns) - 1)
    at = 0
    for (since, before), (until, after) in pairwise(((0, 0), *looks)):
        while until > since and at < len(bits):
            stop = min(until, edges_ns[at + 1])
            bits[at] += (after - before) * max(0, stop - max(since, edges_ns[at])) / (until - since)
            if until < edges_ns[at + 1]:
                break
            at += 1
    return bits
