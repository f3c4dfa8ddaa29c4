"""Which part of a gradient a rank of a ring gives away, and gets, in each step.

The N chunks are those of `numpy.array_split`. In steps 0 .. N-2 chunk c goes from rank c on, and each rank adds its
own; so rank r ends with the sum of chunk r + 1. In steps N-1 .. 2N-3 sums go on to the others.
"""

from __future__ import annotations

__all__ = ["chunk_given", "chunk_of", "steps_of"]


def steps_of(size: int) -> int:
    return 2 * (size - 1)


def chunk_given(rank: int, size: int, step: int) -> int:
    """What `rank` sends to its successor, which gets it in the same step."""
    return (rank - step) % size if step < size - 1 else (rank + 1 - (step - (size - 1))) % size


def chunk_of(number: int, size: int, elements: int) -> tuple[int, int]:
    """First element of a chunk, and the one behind its last."""
    each, more = divmod(elements, size)
    first = number * each + min(number, more)
    return first, first + each + (number < more)
