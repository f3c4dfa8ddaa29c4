"""What arrived at hosts between two looks at their links (`QueuesSampled`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["arrived"]


def arrived(looks: Iterable[tuple[int, int]], edges_ns: Sequence[int]) -> list[float]:
    """Bits in each interval between `edges_ns`. `looks`: (ns, bits since the start), in order of time; what
    came between two of them came evenly."""
    times, bits = zip((0, 0), *looks, strict=True)
    found: list[float] = np.diff(np.interp(edges_ns, times, bits)).tolist()
    return found
