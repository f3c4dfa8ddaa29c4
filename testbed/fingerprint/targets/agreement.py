"""One sum from those of all ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.fingerprint.reducer import Array, Unusable, same_bits

__all__ = ["agreed"]


def agreed(sums: Sequence[Array]) -> Array:
    """Of each rank, shape (runs, elements). Raises Unusable where they differ."""
    first = sums[0]
    for rank, other in enumerate(sums):
        equal = same_bits(first, other)
        if not equal.all():
            run, element = (int(place) for place in np.argwhere(~equal)[0])
            words = (int(each.view(np.uint32)[run, element]) for each in (first, other))
            raise Unusable(
                f"ranks hold different sums: element {element} is {next(words):#010x} at rank 0 and "
                f"{next(words):#010x} at rank {rank}"
            )
    return first
